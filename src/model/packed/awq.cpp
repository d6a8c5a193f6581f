#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "headscope/base/error.h"
#include "model/packed/decoders.h"
#include "model/packed/packed_parts.h"

namespace headscope {
namespace {

constexpr std::string_view kAwqCodes = "qweight";
constexpr std::size_t kPerWord = 8;
// Position, in nibbles from the low end, of output i of a word.
constexpr std::array<unsigned, kPerWord> kNibble = {0, 4, 1, 5, 2, 6, 3, 7};

class AwqReader {
 public:
  AwqReader(const StoredTensor& codes, const StoredTensor& zeros, const StoredTensor& scales)
      : codes_(codes),
        zeros_(zeros),
        scales_(scales),
        words_(codes.shape[1]),
        group_size_(codes.shape[0] / scales.shape[0]) {}

  void operator()(std::size_t row, std::size_t first, std::span<float> values, std::span<float> spacings) const {
    const unsigned shift = 4 * kNibble[row % kPerWord];
    const std::size_t word = row / kPerWord;
    const auto code = [&](std::uint32_t bits) { return static_cast<std::int32_t>((bits >> shift) & 15U); };
    std::size_t i = 0;
    while (i < values.size()) {
      const std::size_t group = (first + i) / group_size_;
      const std::size_t end = std::min(values.size(), (group + 1) * group_size_ - first);
      const float scale = scales_[group * words_ * kPerWord + row];
      const std::int32_t zero = code(zeros_[group * words_ + word]);
      for (; i < end; ++i) {
        values[i] = scale * static_cast<float>(code(codes_[(first + i) * words_ + word]) - zero);
        if (!spacings.empty()) spacings[i] = std::abs(scale);
      }
    }
  }

 private:
  PartOf<std::uint32_t> codes_;
  PartOf<std::uint32_t> zeros_;
  FloatPart scales_;
  std::size_t words_;
  std::size_t group_size_;
};

void check_settings(const Checkpoint& checkpoint, JsonValue stated) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: weights are quantized with AWQ, {}", checkpoint.config_path().string(), what));
  };
  JsonValue version = stated.find("version");
  if (version.is_null()) version = stated.find("format");
  if (version.is_null()) version = stated.find("checkpoint_format");
  const std::string_view name = version.as_string().value_or(version.is_null() ? "gemm" : "not a string");
  if (name != "gemm" && name != "GEMM") {
    refuse(fmt::format("packing '{}'; headscope decodes 'gemm'", printable(name)));
  }
  if (const auto bits = stated.find("bits").as_unsigned(); bits && *bits != 4) {
    refuse(fmt::format("{} bits; headscope decodes 4", *bits));
  }
}

StoredTensor awq_weight(const Checkpoint& checkpoint, const std::string& module, JsonValue settings) {
  PackedParts parts(checkpoint, module + ".");
  const StoredTensor& codes = parts.need(kAwqCodes, {DType::kI32});
  const StoredTensor& zeros = parts.need("qzeros", {DType::kI32});
  const StoredTensor& scales = parts.need("scales", kScaleTypes);
  const std::size_t inputs = parts.matrix(codes)[0];
  const std::size_t words = codes.shape[1];
  const std::size_t groups = parts.matrix(scales)[0];
  parts.expect(scales, {groups, words * kPerWord});
  parts.expect(zeros, {groups, words});
  const auto size = settings.find("group_size").as_unsigned();
  if (inputs % groups != 0 || (size && *size != inputs / groups)) {
    parts.malformed(scales, fmt::format("has {} groups of {} inputs{}", groups, inputs,
                                        size ? fmt::format(", expected groups of {}", *size) : ", which do not fit"));
  }
  return parts.weight(module + ".weight", DType::kAWQ4, {words * kPerWord, inputs}, AwqReader(codes, zeros, scales));
}

}  // namespace

std::vector<StoredTensor> awq_weights(const Checkpoint& checkpoint, JsonValue settings) {
  check_settings(checkpoint, settings);
  std::vector<StoredTensor> weights;
  for (const std::string& module : packed_modules(checkpoint, kAwqCodes)) {
    weights.push_back(awq_weight(checkpoint, module, settings));
  }
  return weights;
}

}  // namespace headscope
