#include "headscope/io/stored_tensor.h"

#include <fmt/format.h>

#include <algorithm>

#include "headscope/base/error.h"
#include "headscope/io/decode.h"
#include "headscope/io/spacing.h"

namespace headscope {
namespace {

void decode_packed(const StoredTensor& tensor, std::size_t first, std::span<float> out, std::span<float> spacings) {
  const std::size_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
  while (!out.empty()) {
    const std::size_t begin = first % columns;
    const std::size_t size = std::min(out.size(), columns - begin);
    tensor.packed->read(first / columns, begin, out.first(size), spacings.empty() ? spacings : spacings.first(size));
    out = out.subspan(size);
    if (!spacings.empty()) spacings = spacings.subspan(size);
    first += size;
  }
}

}  // namespace

bool is_decodable(const StoredTensor& tensor) noexcept {
  return tensor.packed != nullptr || info(tensor.dtype).decodable;
}

bool has_spacings(const StoredTensor& tensor) noexcept {
  return tensor.packed != nullptr || has_spacings(tensor.dtype);
}

std::size_t bytes_of(const StoredTensor& tensor) noexcept {
  std::size_t bytes = tensor.bytes.size();
  if (tensor.packed != nullptr) {
    for (const StoredTensor* part : tensor.packed->parts) bytes += part->bytes.size();
  }
  return bytes;
}

std::size_t block_of(const StoredTensor& tensor) noexcept {
  return tensor.packed != nullptr ? 1 : info(tensor.dtype).block_elements;
}

void decode_part(const StoredTensor& tensor, std::size_t first, std::span<float> out, std::span<float> spacings) {
  const auto elements = element_count(tensor.shape).value_or(0);
  if (first > elements || out.size() > elements - first || (!spacings.empty() && spacings.size() != out.size())) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("decode_part: elements {} to {} of '{}', which has {}", first,
                                                         first + out.size(), printable(tensor.name), elements));
  }
  if (tensor.packed != nullptr) return decode_packed(tensor, first, out, spacings);
  const DTypeInfo& type = info(tensor.dtype);
  const auto blocks = tensor.bytes.subspan(first / type.block_elements * type.block_bytes,
                                           out.size() / type.block_elements * type.block_bytes);
  decode(tensor.dtype, blocks, out);
  if (!spacings.empty()) find_spacings(tensor.dtype, blocks, out, spacings);
}

}  // namespace headscope
