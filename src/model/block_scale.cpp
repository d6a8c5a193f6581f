#include "model/block_scale.h"

#include <fmt/format.h>

#include "headscope/base/error.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

std::string scale_name(const StoredTensor& weight) {
  return weight.name + "_scale_inv";
}

}  // namespace

const StoredTensor* find_block_scale(const Checkpoint& checkpoint, const StoredTensor& weight) {
  if (weight.packed != nullptr || info(weight.dtype).block_bytes != 1) return nullptr;
  const StoredTensor* scale = checkpoint.find(scale_name(weight));
  if (scale == nullptr) return nullptr;
  const std::string file = checkpoint.file_of(*scale).string();
  const bool fits = scale->shape.size() == 2 && weight.shape.size() == 2 && scale->shape[0] > 0 &&
                    scale->shape[1] > 0 && scale->shape[0] <= weight.shape[0] && scale->shape[1] <= weight.shape[1];
  if (element_count(scale->shape) != 1u && !fits) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: tensor '{}' is {}, expected one factor or a matrix of them no larger than {}", file,
                            printable(scale->name), to_string(scale->shape), to_string(weight.shape)));
  }
  if (!info(scale->dtype).decodable) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: tensor '{}' is stored as {}, which headscope does not decode",
                                                     file, printable(scale->name), info(scale->dtype).name));
  }
  return scale;
}

std::string missing_block_scale(const Checkpoint& checkpoint, const StoredTensor& weight) {
  const bool fp8 = weight.dtype == DType::kF8E4M3 || weight.dtype == DType::kF8E5M2;
  const bool scaled = fp8 && weight.packed == nullptr && !checkpoint.config().find("quantization_config").is_null();
  return scaled && checkpoint.find(scale_name(weight)) == nullptr ? scale_name(weight) : "";
}

BlockScale::BlockScale(const Checkpoint& checkpoint, const StoredTensor& weight, const StoredTensor* scale) {
  if (scale == nullptr) return;
  values_ = read_vector(checkpoint, *scale);
  if (values_.size() == 1) {
    block_ = weight.shape;
    columns_ = 1;
    return;
  }
  columns_ = scale->shape[1];
  const JsonValue stated = checkpoint.config().find("quantization_config").find("weight_block_size");
  std::size_t axis = 0;
  for (const JsonValue item : stated.items()) {
    if (axis < 2) block_[axis++] = static_cast<std::size_t>(item.as_unsigned().value_or(0));
  }
  for (axis = 0; axis < 2; ++axis) {
    const std::size_t extent = weight.shape[axis];
    const std::size_t blocks = scale->shape[axis];
    if (block_[axis] == 0 || (extent + block_[axis] - 1) / block_[axis] != blocks) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: tensor '{}' is {}, expected one factor per block of {} of {}",
                                                  checkpoint.file_of(*scale).string(), printable(scale->name),
                                                  to_string(scale->shape), to_string(block_), to_string(weight.shape)));
    }
  }
}

void BlockScale::apply(std::size_t row, std::size_t first_column, std::span<float> values) const {
  if (values_.empty()) return;
  const float* factors = values_.data() + row / block_[0] * columns_;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= factors[(first_column + i) / block_[1]];
}

}  // namespace headscope
