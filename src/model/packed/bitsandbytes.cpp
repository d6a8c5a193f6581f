#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/code_book.h"
#include "headscope/io/json.h"
#include "model/packed/decoders.h"
#include "model/packed/packed_parts.h"

namespace headscope {
namespace {

constexpr std::string_view kState = "quant_state.bitsandbytes__";
constexpr std::size_t kMaxState = std::size_t{1} << 16;

// The factor of every block, as stored or coded in 8 bits.
class BlockFactors {
 public:
  explicit BlockFactors(const StoredTensor& plain) : plain_(plain) {}
  BlockFactors(const StoredTensor& codes, const StoredTensor& factors, const StoredTensor& table, std::size_t block,
               float offset)
      : plain_(factors), codes_(codes), table_(table), block_(block), offset_(offset) {}

  [[nodiscard]] float operator[](std::size_t i) const {
    if (!table_) return plain_[i];
    return (*table_)[codes_[i]] * plain_[i / block_] + offset_;
  }

 private:
  FloatPart plain_;
  PartOf<std::uint8_t> codes_;
  std::optional<FloatPart> table_;
  std::size_t block_ = 1;
  float offset_ = 0;
};

// Codes of 4 bits. Blocks cross rows.
class CodeReader {
 public:
  CodeReader(const StoredTensor& codes, const StoredTensor& table, BlockFactors factors, std::size_t block,
             std::size_t columns, std::string file)
      : codes_(codes), table_(&table), factors_(factors), block_(block), columns_(columns), file_(std::move(file)) {}

  void operator()(std::size_t row, std::size_t first, std::span<float> values, std::span<float> spacings) const {
    const CodeBook book = code_book();
    const std::size_t begin = row * columns_ + first;
    std::size_t i = 0;
    while (i < values.size()) {
      const std::size_t block = (begin + i) / block_;
      const std::size_t end = std::min(values.size(), (block + 1) * block_ - begin);
      const float factor = factors_[block];
      for (; i < end; ++i) {
        const unsigned byte = codes_[(begin + i) / 2];
        const unsigned code = (begin + i) % 2 == 0 ? byte >> 4U : byte & 15U;
        values[i] = book.values[code] * factor;
        if (!spacings.empty()) spacings[i] = book.steps[code] * std::abs(factor);
      }
    }
  }

 private:
  [[nodiscard]] CodeBook code_book() const {
    std::array<float, 16> values;
    decode_part(*table_, 0, values);
    if (std::ranges::any_of(values, [](float value) { return !std::isfinite(value); })) {
      throw Error(ErrorKind::kNumeric, fmt::format("{}: tensor '{}' holds NaN or Inf", file_, printable(table_->name)));
    }
    return make_code_book(values);
  }

  PartOf<std::uint8_t> codes_;
  const StoredTensor* table_;
  BlockFactors factors_;
  std::size_t block_;
  std::size_t columns_;
  std::string file_;
};

class RowReader {
 public:
  RowReader(const StoredTensor& codes, const StoredTensor& largest)
      : codes_(codes), largest_(largest), columns_(codes.shape[1]) {}

  void operator()(std::size_t row, std::size_t first, std::span<float> values, std::span<float> spacings) const {
    // The library multiplies by the reciprocal, in this order.
    constexpr float kOne = 7.874015718698502e-3F;
    const float largest = largest_[row];
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(codes_[row * columns_ + first + i]) * largest * kOne;
    }
    std::ranges::fill(spacings, std::abs(largest * kOne));
  }

 private:
  PartOf<std::int8_t> codes_;
  FloatPart largest_;
  std::size_t columns_;
};

// What the JSON in a `quant_state` tensor says.
struct State {
  Shape shape;
  std::size_t block = 0;
  std::size_t nested_block = 0;
  float nested_offset = 0;
};

State read_state(const PackedParts& parts, const StoredTensor& tensor) {
  if (tensor.bytes.size() > kMaxState) parts.malformed(tensor, "is too long for a description");
  const JsonDocument document = JsonDocument::parse(as_text(tensor.bytes), printable(tensor.name));
  const JsonValue root = document.root();
  State state;
  for (const JsonValue extent : root.find("shape").items()) {
    state.shape.push_back(static_cast<std::size_t>(extent.as_unsigned().value_or(0)));
  }
  const auto size = [&](std::string_view key) {
    const std::uint64_t value = root.find(key).as_unsigned().value_or(0);
    return value > UINT32_MAX ? 0 : static_cast<std::size_t>(value);
  };
  state.block = size("blocksize");
  state.nested_block = size("nested_blocksize");
  state.nested_offset = static_cast<float>(root.find("nested_offset").as_number().value_or(0));
  const auto elements = element_count(state.shape);
  if (state.shape.size() != 2 || !elements || *elements == 0 || state.block == 0) {
    parts.malformed(tensor, fmt::format("says shape {} and blocks of {}, expected a matrix and a positive size",
                                        to_string(state.shape), state.block));
  }
  return state;
}

std::size_t blocks_of(std::size_t elements, std::size_t block) {
  return elements / block + (elements % block != 0 ? 1 : 0);
}

StoredTensor coded_weight(const Checkpoint& checkpoint, const std::string& name, std::string_view kind) {
  PackedParts parts(checkpoint, name);
  // `bnb_4bit_quant_storage` chooses the type that the bytes are stored as.
  const StoredTensor& codes =
      parts.need("", {DType::kU8, DType::kI8, DType::kF16, DType::kBF16, DType::kF32, DType::kI32});
  const StoredTensor& described = parts.need("." + std::string(kState) + std::string(kind), {DType::kU8});
  const StoredTensor& table = parts.need(".quant_map", {DType::kF32});
  const State state = read_state(parts, described);
  const auto elements = static_cast<std::size_t>(element_count(state.shape).value_or(0));
  parts.expect(table, {16});
  if (codes.bytes.size() != elements / 2 + elements % 2) {
    parts.malformed(codes, fmt::format("has {} bytes, expected two codes per byte of {}", codes.bytes.size(),
                                       to_string(state.shape)));
  }
  const Shape blocks = {blocks_of(elements, state.block)};
  const StoredTensor& largest = parts.need(".absmax", {DType::kF32, DType::kU8});
  parts.expect(largest, blocks);
  std::optional<BlockFactors> factors;
  if (largest.dtype == DType::kF32) {
    factors.emplace(largest);
  } else {
    const StoredTensor& nested = parts.need(".nested_absmax", {DType::kF32});
    const StoredTensor& nested_table = parts.need(".nested_quant_map", {DType::kF32});
    parts.expect(nested_table, {256});
    if (state.nested_block == 0) parts.malformed(described, "has no 'nested_blocksize'");
    parts.expect(nested, {blocks_of(blocks[0], state.nested_block)});
    factors.emplace(largest, nested, nested_table, state.nested_block, state.nested_offset);
  }
  return parts.weight(
      name, kind == "nf4" ? DType::kNF4 : DType::kFP4, state.shape,
      CodeReader(codes, table, *factors, state.block, state.shape[1], checkpoint.file_of(table).string()));
}

StoredTensor row_weight(const Checkpoint& checkpoint, const std::string& module) {
  PackedParts parts(checkpoint, module + ".");
  const StoredTensor& codes = parts.need("weight", {DType::kI8});
  const StoredTensor& largest = parts.need("SCB", {DType::kF32});
  const Shape shape = parts.matrix(codes);
  parts.expect(largest, {shape[0]});
  if (const StoredTensor* format = parts.find("weight_format", {DType::kU8})) {
    // 0 is by rows; the others are orders of tiles for old GPUs.
    if (format->bytes.size() != 1) parts.malformed(*format, "is not one number");
    if (format->bytes[0] != std::byte{0}) parts.unsupported("is not stored row by row; headscope decodes only this");
  }
  return parts.weight(module + ".weight", DType::kLlmInt8, shape, RowReader(codes, largest));
}

}  // namespace

std::vector<StoredTensor> bitsandbytes_weights(const Checkpoint& checkpoint, JsonValue) {
  std::vector<StoredTensor> weights;
  for (const std::string_view kind : {"nf4", "fp4"}) {
    for (const std::string& name : packed_modules(checkpoint, std::string(kState) + std::string(kind))) {
      weights.push_back(coded_weight(checkpoint, name, kind));
    }
  }
  for (const std::string& module : packed_modules(checkpoint, "SCB")) {
    weights.push_back(row_weight(checkpoint, module));
  }
  return weights;
}

}  // namespace headscope
