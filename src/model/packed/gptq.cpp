#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string_view>

#include "headscope/base/error.h"
#include "model/packed/decoders.h"
#include "model/packed/packed_parts.h"

namespace headscope {
namespace {

constexpr std::string_view kGptqCodes = "qweight";

class GptqReader {
 public:
  GptqReader(const StoredTensor& codes, const StoredTensor& zeros, const StoredTensor& scales, unsigned bits,
             bool zeros_minus_one, InputGroups groups)
      : codes_(codes),
        zeros_(zeros),
        scales_(scales),
        bits_(bits),
        per_word_(32 / bits),
        mask_((1U << bits) - 1),
        // Undoes the subtraction of 1 from every zero of a word: both are done on the whole word, carries included.
        add_(!zeros_minus_one ? 0
             : bits == 4      ? 0x11111111U
                              : 0x01010101U),
        outputs_(codes.shape[1]),
        group_count_(scales.shape[0]),
        groups_(std::move(groups)) {}

  void operator()(std::size_t row, std::size_t first, std::span<float> values, std::span<float> spacings) const {
    thread_local std::vector<Group> table;
    table.resize(group_count_);
    for (std::size_t g = 0; g < group_count_; ++g) {
      const std::uint32_t word = zeros_[g * (outputs_ / per_word_) + row / per_word_] + add_;
      table[g] = {scales_[g * outputs_ + row], static_cast<std::int32_t>(code(word, row))};
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t input = first + i;
      const Group& group = table[groups_[input]];
      const auto q = static_cast<std::int32_t>(code(codes_[input / per_word_ * outputs_ + row], input));
      values[i] = group.scale * static_cast<float>(q - group.zero);
      if (!spacings.empty()) spacings[i] = std::abs(group.scale);
    }
  }

 private:
  struct Group {
    float scale;
    std::int32_t zero;
  };
  [[nodiscard]] std::uint32_t code(std::uint32_t word, std::size_t index) const noexcept {
    return (word >> (index % per_word_ * bits_)) & mask_;
  }

  PartOf<std::uint32_t> codes_;
  PartOf<std::uint32_t> zeros_;
  FloatPart scales_;
  unsigned bits_;
  std::size_t per_word_;
  std::uint32_t mask_;
  std::uint32_t add_;
  std::size_t outputs_;
  std::size_t group_count_;
  InputGroups groups_;
};

struct GptqSettings {
  bool zeros_minus_one = true;
  bool act_order = false;
  bool several_widths = false;
  std::optional<std::uint64_t> bits;
  std::optional<std::uint64_t> group_size;  // nothing: one group
};

GptqSettings read_gptq_settings(const Checkpoint& checkpoint, JsonValue stated) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: weights are quantized with GPTQ, {}", checkpoint.config_path().string(), what));
  };
  GptqSettings settings;
  JsonValue format = stated.find("checkpoint_format");
  if (format.is_null()) format = stated.find("format");
  const std::string_view name = format.as_string().value_or(format.is_null() ? "gptq" : "not a string");
  if (name != "gptq" && name != "gptq_v2") {
    refuse(fmt::format("format '{}'; headscope decodes gptq and gptq_v2", printable(name)));
  }
  settings.zeros_minus_one = name == "gptq";
  settings.act_order = stated.find("desc_act").as_bool().value_or(false);
  settings.several_widths = stated.find("dynamic").size() > 0;
  settings.bits = stated.find("bits").as_unsigned();
  if (const JsonValue size = stated.find("group_size"); !size.is_null() && size.as_number() != -1.0) {
    settings.group_size = size.as_unsigned();
    if (!settings.group_size || *settings.group_size == 0) refuse("but 'group_size' is neither -1 nor positive");
  }
  return settings;
}

StoredTensor gptq_weight(const Checkpoint& checkpoint, const std::string& module, const GptqSettings& settings) {
  PackedParts parts(checkpoint, module + ".");
  const StoredTensor& codes = parts.need(kGptqCodes, {DType::kI32});
  const StoredTensor& zeros = parts.need("qzeros", {DType::kI32});
  const StoredTensor& scales = parts.need("scales", kScaleTypes);
  const StoredTensor* index = parts.find("g_idx", {DType::kI32});
  const std::size_t outputs = parts.matrix(codes)[1];
  const std::size_t groups = parts.matrix(scales)[0];
  parts.expect(scales, {groups, outputs});

  // Both numbers of bits are possible in one file; the zeros' width tells them apart.
  const std::size_t zero_words = parts.matrix(zeros)[1];
  const unsigned bits = zero_words * 8 == outputs ? 4 : zero_words * 4 == outputs ? 8 : 0;
  if (bits == 0 || (settings.bits && *settings.bits != bits && !settings.several_widths)) {
    parts.unsupported(fmt::format("has {} words of zeros for {} outputs{}; headscope decodes 4 and 8 bits", zero_words,
                                  outputs,
                                  settings.bits ? fmt::format(" and config.json says {} bits", *settings.bits) : ""));
  }
  parts.expect(zeros, {groups, zero_words});
  const std::size_t inputs = codes.shape[0] * (32 / bits);
  if (index != nullptr) {
    parts.expect(*index, {inputs});
  } else if (settings.act_order) {
    parts.need("g_idx", {DType::kI32});
  }
  const std::size_t size = settings.group_size.value_or(inputs);
  if (index == nullptr && (inputs + size - 1) / size != groups) {
    parts.malformed(scales, fmt::format("has {} groups, expected groups of {} of {} inputs", groups, size, inputs));
  }
  InputGroups input_groups =
      index != nullptr ? InputGroups(*index, groups, checkpoint.file_of(*index).string()) : InputGroups(size);
  return parts.weight(module + ".weight", bits == 4 ? DType::kGPTQ4 : DType::kGPTQ8, {outputs, inputs},
                      GptqReader(codes, zeros, scales, bits, settings.zeros_minus_one, std::move(input_groups)));
}

}  // namespace

std::vector<StoredTensor> gptq_weights(const Checkpoint& checkpoint, JsonValue stated) {
  const GptqSettings settings = read_gptq_settings(checkpoint, stated);
  std::vector<StoredTensor> weights;
  for (const std::string& module : packed_modules(checkpoint, kGptqCodes)) {
    weights.push_back(gptq_weight(checkpoint, module, settings));
  }
  return weights;
}

}  // namespace headscope
