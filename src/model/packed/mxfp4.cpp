#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/io/code_book.h"
#include "model/packed/decoders.h"
#include "model/packed/packed_parts.h"

namespace headscope {
namespace {

constexpr std::string_view kCodes = "_blocks";
constexpr std::string_view kFactors = "_scales";
constexpr std::size_t kBlock = 32;

class BlockReader {
 public:
  BlockReader(const StoredTensor& codes, const StoredTensor& exponents)
      : codes_(codes), exponents_(exponents), blocks_(exponents.shape.back()) {}

  void operator()(std::size_t row, std::size_t first, std::span<float> values, std::span<float> spacings) const {
    const CodeBook& book = e2m1_code_book();
    std::size_t i = 0;
    while (i < values.size()) {
      const std::size_t block = (first + i) / kBlock;
      const std::size_t end = std::min(values.size(), (block + 1) * kBlock - first);
      const float factor = e8m0_factor(exponents_[row * blocks_ + block]);
      for (; i < end; ++i) {
        const std::size_t element = (row * blocks_ + block) * kBlock + (first + i) % kBlock;
        const unsigned byte = codes_[element / 2];
        const unsigned code = element % 2 == 0 ? byte & 15U : byte >> 4U;
        values[i] = book.values[code] * factor;
        if (!spacings.empty()) spacings[i] = book.steps[code] * factor;
      }
    }
  }

 private:
  PartOf<std::uint8_t> codes_;
  PartOf<std::uint8_t> exponents_;
  std::size_t blocks_;
};

}  // namespace

std::vector<StoredTensor> mxfp4_weights(const Checkpoint& checkpoint, JsonValue) {
  std::vector<StoredTensor> weights;
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    if (!tensor->name.ends_with(kCodes)) continue;
    const std::string name = tensor->name.substr(0, tensor->name.size() - kCodes.size());
    PackedParts parts(checkpoint, name);
    const StoredTensor& codes = parts.need(kCodes, {DType::kU8});
    const StoredTensor& exponents = parts.need(kFactors, {DType::kU8});
    Shape expected = exponents.shape;
    expected.push_back(kBlock / 2);
    if (exponents.shape.size() < 2 || element_count(exponents.shape) == 0u) {
      parts.malformed(exponents, fmt::format("is {}, expected rows of exponents", to_string(exponents.shape)));
    }
    parts.expect(codes, expected);
    Shape shape = exponents.shape;
    shape.back() *= kBlock;
    weights.push_back(parts.weight(name, DType::kMXFP4, shape, BlockReader(codes, exponents)));
  }
  return weights;
}

}  // namespace headscope
