#include "headscope/model/read_weights.h"

#include <bit>
#include <cstdint>

#include "headscope/base/parallel.h"
#include "model/block_scale.h"
#include "model/first_non_finite.h"

namespace headscope {
namespace {

std::size_t count(const StoredTensor& tensor) {
  return static_cast<std::size_t>(element_count(tensor.shape).value_or(0));
}

}  // namespace

bool is_read_in_place(const StoredTensor& tensor) noexcept {
  return tensor.dtype == DType::kF32 && std::endian::native == std::endian::little &&
         std::bit_cast<std::uintptr_t>(tensor.bytes.data()) % alignof(float) == 0;
}

std::vector<float> read_vector(const Checkpoint& checkpoint, const StoredTensor& tensor) {
  std::vector<float> values(count(tensor));
  decode_part(tensor, 0, values);
  FirstNonFinite non_finite;
  non_finite.look(values, 0);
  non_finite.report(checkpoint, tensor);
  return values;
}

void read_part(const StoredTensor& tensor, std::size_t first, std::span<float> out) {
  decode_part(tensor, first, out);
}

std::span<const float> read_weights(const Checkpoint& checkpoint, const StoredTensor& tensor, Buffer<float>& scratch) {
  const std::size_t size = count(tensor);
  if (is_read_in_place(tensor)) {
    // The mapped bytes are exactly the object representation of the floats.
    return {reinterpret_cast<const float*>(tensor.bytes.data()), size};
  }
  if (scratch.size() < size) scratch = Buffer<float>(size);
  const std::span<float> values = scratch.values().first(size);
  const std::size_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
  const std::size_t rows = columns == 0 ? 0 : size / columns;
  const BlockScale scale(checkpoint, tensor, find_block_scale(checkpoint, tensor));
  constexpr std::size_t kRows = 64;
  parallel_for((rows + kRows - 1) / kRows, [&](std::size_t panel) {
    for (std::size_t row = panel * kRows; row < std::min(rows, (panel + 1) * kRows); ++row) {
      const std::span<float> out = values.subspan(row * columns, columns);
      read_part(tensor, row * columns, out);
      scale.apply(row, 0, out);
    }
  });
  return values;
}

void reject_non_finite(const Checkpoint& checkpoint, const StoredTensor& tensor) {
  Buffer<float> scratch;
  FirstNonFinite non_finite;
  non_finite.look(read_weights(checkpoint, tensor, scratch), 0);
  non_finite.report(checkpoint, tensor);
}

}  // namespace headscope
