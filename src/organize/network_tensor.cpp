#include "headscope/organize/network_tensor.h"

#include <algorithm>

#include "headscope/base/parallel.h"

namespace headscope {

std::string_view to_string(TensorAxis axis) noexcept {
  return axis == TensorAxis::kHead ? "head" : axis == TensorAxis::kQuery ? "query" : "key";
}

TensorSlices NetworkTensor::slices(TensorAxis axis) const noexcept {
  const auto s = static_cast<std::size_t>(axis);
  const std::size_t a = s == 0 ? 1 : 0;
  const std::size_t b = s == 2 ? 1 : 2;
  const std::array<std::size_t, 3> strides = {map_size(), keys(), 1};
  TensorSlices result{values.data(), extents[s], extents[a], extents[b], strides[s], strides[a],
                      strides[b],    nullptr,    0,          0,          0};
  if (present.empty()) return result;
  const std::array<std::size_t, 3> mask_strides = {shared_mask() ? 0 : strides[0], strides[1], strides[2]};
  result.present = present.data();
  result.present_slice_stride = mask_strides[s];
  result.present_row_stride = mask_strides[a];
  result.present_column_stride = mask_strides[b];
  return result;
}

std::vector<double> filled_map(const NetworkTensor& tensor, std::size_t head) {
  const auto map = tensor.map(head);
  const auto mask = tensor.mask(head);
  std::vector<double> result(map.begin(), map.end());
  if (mask.empty()) return result;
  double sum = 0;
  double count = 0;
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (mask[i] == 0) continue;
    sum += result[i];
    ++count;
  }
  const double fill = tensor.kind == MapKind::kScores && count > 0 ? sum / count : 0;
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (mask[i] == 0) result[i] = fill;
  }
  return result;
}

Buffer<float> filled_values(const NetworkTensor& tensor) {
  Buffer<float> result;
  fill_values(tensor, result);
  return result;
}

void fill_values(const NetworkTensor& tensor, Buffer<float>& result) {
  if (result.size() != tensor.values.size()) result = Buffer<float>(tensor.values.size());
  const std::size_t size = tensor.map_size();
  parallel_for(tensor.heads(), [&](std::size_t h) { fill_map(tensor, h, result.values().subspan(h * size, size)); });
}

void fill_map(const NetworkTensor& tensor, std::size_t head, std::span<float> result) {
  if (tensor.present.empty()) {
    std::ranges::copy(tensor.map(head), result.begin());
    return;
  }
  std::ranges::transform(filled_map(tensor, head), result.begin(),
                         [](double value) { return static_cast<float>(value); });
}

}  // namespace headscope
