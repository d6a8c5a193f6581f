#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/io/decode.h"
#include "headscope/io/spacing.h"
#include "model/packed/decoders.h"
#include "model/packed/packed_parts.h"

namespace headscope {
namespace {

// Where the scale and zero point of an element are: scales are a matrix, each for `rows` rows and a group of columns.
struct Grid {
  std::size_t rows;
  std::size_t columns;  // of the matrix of scales
  InputGroups groups;

  [[nodiscard]] std::size_t index(std::size_t row, std::size_t column) const {
    return row / rows * columns + groups[column];
  }
};

// Zero points: none, one byte each, or packed along the rows.
class ZeroPoints {
 public:
  ZeroPoints() = default;
  explicit ZeroPoints(const StoredTensor& bytes) : bytes_(bytes) {}
  ZeroPoints(const StoredTensor& words, unsigned bits, std::size_t columns)
      : words_(words), bits_(bits), columns_(columns) {}

  [[nodiscard]] std::int32_t operator[](std::size_t i) const noexcept {
    if (bits_ != 0) {
      const std::size_t row = i / columns_;
      const std::size_t per_word = 32 / bits_;
      const std::uint32_t word = words_[row / per_word * columns_ + i % columns_];
      const std::uint32_t code = (word >> (row % per_word * bits_)) & ((1U << bits_) - 1);
      return static_cast<std::int32_t>(code) - (1 << (bits_ - 1));
    }
    return bytes_.size() != 0 ? bytes_[i] : 0;
  }

 private:
  PartOf<std::int8_t> bytes_;
  PartOf<std::uint32_t> words_;
  unsigned bits_ = 0;
  std::size_t columns_ = 1;
};

// Integers of 4 or 8 bits, as bytes or packed into words with half of their range added.
class IntegerReader {
 public:
  IntegerReader(const StoredTensor& codes, unsigned packed_bits, const StoredTensor& scales, ZeroPoints zeros,
                Grid grid)
      : codes_(codes),
        words_(codes),
        bits_(packed_bits),
        row_(codes.shape[1]),
        scales_(scales),
        zeros_(zeros),
        grid_(std::move(grid)) {}

  void operator()(std::size_t row, std::size_t first, std::span<float> values, std::span<float> spacings) const {
    std::size_t at = SIZE_MAX;
    float scale = 0;
    std::int32_t zero = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (const std::size_t index = grid_.index(row, first + i); index != at) {
        at = index;
        scale = scales_[at];
        zero = zeros_[at];
      }
      values[i] = static_cast<float>(code(row, first + i) - zero) * scale;
      if (!spacings.empty()) spacings[i] = std::abs(scale);
    }
  }

 private:
  [[nodiscard]] std::int32_t code(std::size_t row, std::size_t column) const noexcept {
    if (bits_ == 0) return codes_[row * row_ + column];
    const std::size_t per_word = 32 / bits_;
    const std::uint32_t word = words_[row * row_ + column / per_word];
    const std::uint32_t raw = (word >> (column % per_word * bits_)) & ((1U << bits_) - 1);
    return static_cast<std::int32_t>(raw) - (1 << (bits_ - 1));
  }

  PartOf<std::int8_t> codes_;
  PartOf<std::uint32_t> words_;
  unsigned bits_;
  std::size_t row_;  // bytes or words per row
  FloatPart scales_;
  ZeroPoints zeros_;
  Grid grid_;
};

class FloatReader {
 public:
  FloatReader(const StoredTensor& codes, const StoredTensor& scales, Grid grid)
      : codes_(&codes), scales_(scales), grid_(std::move(grid)) {}

  void operator()(std::size_t row, std::size_t first, std::span<float> values, std::span<float> spacings) const {
    decode_part(*codes_, row * codes_->shape[1] + first, values, spacings);
    std::size_t at = SIZE_MAX;
    float scale = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (const std::size_t index = grid_.index(row, first + i); index != at) {
        at = index;
        scale = scales_[at];
      }
      values[i] *= scale;
      if (!spacings.empty()) spacings[i] *= std::abs(scale);
    }
  }

 private:
  const StoredTensor* codes_;
  FloatPart scales_;
  Grid grid_;
};

struct Settings {
  Shape block = {};        // rows and columns per scale, for the strategy "block"
  bool symmetric = false;  // some weights have no zero points
};

Settings read_settings(const Checkpoint& checkpoint, JsonValue stated) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: weights are quantized with compressed-tensors, {}",
                                                     checkpoint.config_path().string(), what));
  };
  const auto check_format = [&](JsonValue format) {
    constexpr std::array<std::string_view, 6> kKnown = {"pack-quantized",  "int-quantized",   "float-quantized",
                                                        "naive-quantized", "mixed-precision", "dense"};
    const std::string_view name = format.as_string().value_or(format.is_null() ? "dense" : "not a string");
    if (std::ranges::find(kKnown, name) == kKnown.end()) {
      refuse(fmt::format("format '{}'; headscope decodes pack-quantized, int-quantized and float-quantized",
                         printable(name)));
    }
  };
  Settings settings;
  bool has_weights = false;
  check_format(stated.find("format"));
  if (const JsonValue sparse = stated.find("sparsity_config").find("format"); !sparse.is_null()) {
    if (sparse.as_string() != "dense") refuse("with a sparse format");
  }
  if (stated.find("transform_config").find("config_groups").size() > 0) refuse("with transforms of the weights");
  for (const auto [name, group] : stated.find("config_groups").members()) {
    check_format(group.find("format"));
    const JsonValue weights = group.find("weights");
    if (weights.is_null()) continue;
    has_weights = true;
    settings.symmetric = settings.symmetric || weights.find("symmetric").as_bool().value_or(true);
    for (const JsonValue extent : weights.find("block_structure").items()) {
      settings.block.push_back(static_cast<std::size_t>(extent.as_unsigned().value_or(0)));
    }
  }
  settings.symmetric = settings.symmetric || !has_weights;
  if (settings.block.size() != 2 || settings.block[0] == 0 || settings.block[1] == 0) settings.block = {};
  return settings;
}

class Module {
 public:
  Module(const Checkpoint& checkpoint, const std::string& name, const Settings& settings)
      : checkpoint_(checkpoint), name_(name), settings_(settings), parts_(checkpoint, name + ".") {}

  StoredTensor packed() {
    const StoredTensor& codes = parts_.need("weight_packed", {DType::kI32});
    const Shape words = parts_.matrix(codes);
    const Shape shape = stated_shape();
    const unsigned bits = words[1] == (shape[1] + 7) / 8 ? 4 : words[1] == (shape[1] + 3) / 4 ? 8 : 0;
    if (bits == 0 || words[0] != shape[0]) {
      parts_.unsupported(fmt::format("packs {} into words of shape {}; headscope decodes 4 and 8 bits",
                                     to_string(shape), to_string(words)));
    }
    const StoredTensor& scales = parts_.need("weight_scale", kScaleTypes);
    Grid grid = grid_of(scales, shape);
    ZeroPoints zeros = zero_points(scales, grid, shape, bits);
    return parts_.weight(name_ + ".weight", bits == 4 ? DType::kINT4 : DType::kINT8, shape,
                         IntegerReader(codes, bits, scales, zeros, std::move(grid)));
  }

  StoredTensor plain() {
    const StoredTensor& codes = parts_.need("weight", {DType::kI8, DType::kF8E4M3});
    const Shape shape = parts_.matrix(codes);
    const StoredTensor& scales = parts_.need("weight_scale", kScaleTypes);
    Grid grid = grid_of(scales, shape);
    if (codes.dtype == DType::kF8E4M3) {
      if (checkpoint_.find(name_ + ".weight_zero_point") != nullptr) {
        (void)parts_.find("weight_zero_point", {DType::kF8E4M3, DType::kI8, DType::kBF16, DType::kF16, DType::kF32});
        reject_nonzero(*checkpoint_.find(name_ + ".weight_zero_point"));
      }
      return parts_.weight(name_ + ".weight", codes.dtype, shape, FloatReader(codes, scales, std::move(grid)));
    }
    ZeroPoints zeros = zero_points(scales, grid, shape, 0);
    return parts_.weight(name_ + ".weight", DType::kINT8, shape,
                         IntegerReader(codes, 0, scales, zeros, std::move(grid)));
  }

 private:
  Shape stated_shape() {
    const StoredTensor& tensor = parts_.need("weight_shape", {DType::kI64, DType::kI32});
    parts_.expect(tensor, {2});
    const auto extent = [&](std::size_t i) -> std::size_t {
      const std::int64_t value =
          tensor.dtype == DType::kI64 ? PartOf<std::int64_t>(tensor)[i] : PartOf<std::int32_t>(tensor)[i];
      if (value <= 0 || value > INT32_MAX) parts_.malformed(tensor, fmt::format("says an extent of {}", value));
      return static_cast<std::size_t>(value);
    };
    return {extent(0), extent(1)};
  }

  Grid grid_of(const StoredTensor& scales, const Shape& shape) {
    const StoredTensor* index = parts_.find("weight_g_idx", {DType::kI32});
    const Shape& stored = scales.shape;
    const std::size_t count = static_cast<std::size_t>(element_count(stored).value_or(0));
    const bool vector = stored.size() == 1 && stored[0] == shape[0];
    const std::size_t rows = vector ? stored[0] : stored.size() == 2 ? stored[0] : 1;
    const std::size_t columns = stored.size() == 2 ? stored[1] : 1;
    const auto blocks = [&](std::size_t axis) {
      return (shape[axis] + settings_.block[axis] - 1) / settings_.block[axis];
    };
    if (count == 1) return {shape[0], 1, InputGroups(shape[1])};
    if (count == rows * columns && rows == shape[0] && columns > 0) {
      if (index != nullptr) {
        parts_.expect(*index, {shape[1]});
        return {1, columns, InputGroups(*index, columns, checkpoint_.file_of(*index).string())};
      }
      if (shape[1] % columns == 0) return {1, columns, InputGroups(shape[1] / columns)};
    }
    if (!settings_.block.empty() && stored == Shape{blocks(0), blocks(1)}) {
      return {settings_.block[0], columns, InputGroups(settings_.block[1])};
    }
    parts_.malformed(scales, fmt::format("is {}, expected one scale per tensor, row, group or block of {}",
                                         to_string(stored), to_string(shape)));
  }

  ZeroPoints zero_points(const StoredTensor& scales, const Grid& grid, const Shape& shape, unsigned bits) {
    const StoredTensor* zeros = parts_.find("weight_zero_point", {DType::kI8, DType::kI32});
    if (zeros == nullptr) {
      if (!settings_.symmetric) (void)parts_.need("weight_zero_point", {DType::kI8, DType::kI32});
      return {};
    }
    if (zeros->dtype == DType::kI8) {
      parts_.expect(*zeros, scales.shape);
      return ZeroPoints(*zeros);
    }
    if (bits == 0 || grid.rows != 1) parts_.malformed(*zeros, "is packed, but the weight has no row of its own");
    const std::size_t per_word = 32 / bits;
    parts_.expect(*zeros, {(shape[0] + per_word - 1) / per_word, grid.columns});
    return {*zeros, bits, grid.columns};
  }

  void reject_nonzero(const StoredTensor& zeros) {
    if (std::ranges::any_of(zeros.bytes, [](std::byte byte) { return (byte & std::byte{0x7F}) != std::byte{0}; })) {
      parts_.malformed(zeros, "is not zero, but the weight is stored as floating-point numbers");
    }
  }

  const Checkpoint& checkpoint_;
  const std::string& name_;
  const Settings& settings_;
  PackedParts parts_;
};

}  // namespace

std::vector<StoredTensor> compressed_tensors_weights(const Checkpoint& checkpoint, JsonValue stated) {
  const Settings settings = read_settings(checkpoint, stated);
  std::vector<StoredTensor> weights;
  for (const std::string& module : packed_modules(checkpoint, "weight_packed")) {
    weights.push_back(Module(checkpoint, module, settings).packed());
  }
  for (const std::string& module : packed_modules(checkpoint, "weight_scale")) {
    if (checkpoint.find(module + ".weight_packed") != nullptr) continue;
    weights.push_back(Module(checkpoint, module, settings).plain());
  }
  return weights;
}

}  // namespace headscope
