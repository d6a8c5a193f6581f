#include "headscope/organize/network_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "organize/array_axes.h"

namespace headscope {
namespace {

constexpr std::size_t kNamed = 5;  // how many of a list are named in a note

// The chosen entries, head by head; the mask's values of the same entries are looked at on the way.
void copy_entries(std::span<const float> values, const ArrayAxes& axes, const Selection& chosen,
                  NetworkTensor& tensor) {
  tensor.values = Buffer<float>(chosen.heads.size() * tensor.map_size());
  parallel_for(chosen.heads.size(), [&](std::size_t h) {
    float* out = tensor.values.data() + h * tensor.map_size();
    for (const std::size_t q : chosen.queries) {
      const float* from = values.data() + chosen.heads[h] * axes.head_stride + q * axes.query_stride;
      for (const std::size_t k : chosen.keys) *out++ = from[k * axes.key_stride];
    }
  });
}

std::vector<std::uint8_t> causal_mask(const MaskChoice& choice, const ArrayAxes& axes, const Selection& chosen) {
  std::vector<std::uint8_t> mask;
  for (const std::size_t q : chosen.queries) {
    for (const std::size_t k : chosen.keys) {
      const bool seen = choice.first_query ? k <= q + *choice.first_query : k + axes.queries <= q + axes.keys;
      mask.push_back(seen ? 1 : 0);
    }
  }
  return mask;
}

std::vector<std::uint8_t> explicit_mask(const MaskChoice& choice, const ArrayAxes& axes,
                                        std::span<const std::size_t> array_shape, const Selection& chosen,
                                        std::string_view where) {
  std::vector<std::uint8_t> mask;
  const bool is_map = choice.shape == Shape{axes.queries, axes.keys};
  if (!is_map && !std::ranges::equal(choice.shape, array_shape)) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: the mask is {}, expected {} (query, key) or the array's own {}",
                                                where, to_string(choice.shape),
                                                to_string(Shape{axes.queries, axes.keys}), to_string(array_shape)));
  }
  const auto add = [&](float value) { mask.push_back(value != 0 ? 1 : 0); };
  for (std::size_t h = 0; h < (is_map ? 1 : chosen.heads.size()); ++h) {
    for (const std::size_t q : chosen.queries) {
      for (const std::size_t k : chosen.keys) {
        add(is_map ? choice.values[q * axes.keys + k]
                   : choice.values[chosen.heads[h] * axes.head_stride + q * axes.query_stride + k * axes.key_stride]);
      }
    }
  }
  return mask;
}

std::vector<std::uint8_t> make_mask(const MaskChoice& choice, const ArrayAxes& axes,
                                    std::span<const std::size_t> array_shape, const Selection& chosen,
                                    const NetworkTensor& tensor, std::string_view where) {
  switch (choice.kind) {
    case MaskChoice::Kind::kNone:
      return {};
    case MaskChoice::Kind::kCausal:
      return causal_mask(choice, axes, chosen);
    case MaskChoice::Kind::kExplicit:
      return explicit_mask(choice, axes, array_shape, chosen, where);
    case MaskChoice::Kind::kZeros:
      break;
  }
  std::vector<std::uint8_t> mask;
  for (const float value : tensor.values.values()) mask.push_back(value != 0 ? 1 : 0);
  return mask;
}

// \throws kNumeric for the first present entry that is NaN or infinite.
void check_finite(const NetworkTensor& tensor, std::string_view where) {
  for (std::size_t h = 0; h < tensor.heads(); ++h) {
    const auto map = tensor.map(h);
    const auto mask = tensor.mask(h);
    for (std::size_t i = 0; i < map.size(); ++i) {
      if (std::isfinite(map[i]) || (!mask.empty() && mask[i] == 0)) continue;
      throw Error(ErrorKind::kNumeric,
                  fmt::format("{}: head {}, query {}, key {} is {}, expected a number; a mask marks absent entries",
                              where, tensor.head_names[h], tensor.query_positions[i / tensor.keys()],
                              tensor.key_positions[i % tensor.keys()], map[i]));
    }
  }
}

void check_presence(const NetworkTensor& tensor, std::string_view where) {
  if (tensor.present.empty()) return;
  std::vector<bool> query(tensor.queries(), false);
  std::vector<bool> key(tensor.keys(), false);
  for (std::size_t i = 0; i < tensor.present.size(); ++i) {
    if (tensor.present[i] == 0) continue;
    query[i % tensor.map_size() / tensor.keys()] = true;
    key[i % tensor.keys()] = true;
  }
  const auto complain = [&](std::string_view axis, std::size_t position) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: {} {} has no present entry in any head; choose a range without it",
                                                where, axis, position));
  };
  for (std::size_t q = 0; q < query.size(); ++q) {
    if (!query[q]) complain("query", tensor.query_positions[q]);
  }
  for (std::size_t k = 0; k < key.size(); ++k) {
    if (!key[k]) complain("key", tensor.key_positions[k]);
  }
}

// Absent entries become zero or, if they are to be kept, finite.
void settle_absent(NetworkTensor& tensor, bool keep) {
  if (tensor.present.empty()) return;
  for (std::size_t h = 0; h < tensor.heads(); ++h) {
    const auto mask = tensor.mask(h);
    for (std::size_t q = 0; q < tensor.queries(); ++q) {
      float* row = tensor.values.data() + (h * tensor.queries() + q) * tensor.keys();
      const std::uint8_t* present = mask.data() + q * tensor.keys();
      double sum = 0;
      double count = 0;
      for (std::size_t k = 0; keep && k < tensor.keys(); ++k) {
        if (present[k] == 0) continue;
        sum += static_cast<double>(row[k]);
        ++count;
      }
      const float mean = count > 0 ? static_cast<float>(sum / count) : 0.0F;
      for (std::size_t k = 0; k < tensor.keys(); ++k) {
        if (present[k] != 0 || (keep && std::isfinite(row[k]))) continue;
        row[k] = mean;
      }
    }
  }
}

// "a, b, c and 4 more"
std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() <= kNamed ? text : fmt::format("{} and {} more", text, names.size() - kNamed);
}

void note_degenerate_heads(NetworkTensor& tensor) {
  std::vector<std::string> empty;
  std::vector<std::string> constant;
  for (std::size_t h = 0; h < tensor.heads(); ++h) {
    const auto map = tensor.map(h);
    const auto mask = tensor.mask(h);
    const float* first = nullptr;
    bool varies = false;
    for (std::size_t i = 0; i < map.size(); ++i) {
      if (!mask.empty() && mask[i] == 0) continue;
      if (first == nullptr) first = &map[i];
      varies = varies || map[i] != *first;
    }
    if (first == nullptr) empty.push_back(tensor.head_names[h]);
    if (first != nullptr && !varies) constant.push_back(tensor.head_names[h]);
  }
  if (!empty.empty()) tensor.notes.push_back(fmt::format("no present entry in {}", some_of(empty)));
  if (!constant.empty()) tensor.notes.push_back(fmt::format("one value throughout in {}", some_of(constant)));
}

}  // namespace

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

NetworkTensor make_network_tensor(std::span<const float> values, std::span<const std::size_t> shape,
                                  const NetworkTensorOptions& options, std::string_view where) {
  const ArrayAxes axes = read_axes(shape, options, where);
  const Selection chosen = select(axes, options, where);
  NetworkTensor tensor;
  tensor.extents = {chosen.heads.size(), chosen.queries.size(), chosen.keys.size()};
  tensor.kind = options.kind;
  tensor.head_names = chosen.head_names;
  tensor.query_positions = chosen.queries;
  tensor.key_positions = chosen.keys;
  copy_entries(values, axes, chosen, tensor);
  tensor.present = make_mask(options.mask, axes, shape, chosen, tensor, where);
  if (std::ranges::find(tensor.present, 0) == tensor.present.end()) tensor.present.clear();
  check_finite(tensor, where);
  check_presence(tensor, where);
  settle_absent(tensor, options.keep_absent);
  if (options.skip_first > 0) {
    tensor.notes.push_back(
        fmt::format("the first {} left out, as queries and as keys; rows are not normalized again",
                    options.skip_first == 1 ? "token is" : fmt::format("{} tokens are", options.skip_first)));
  }
  note_degenerate_heads(tensor);
  return tensor;
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
