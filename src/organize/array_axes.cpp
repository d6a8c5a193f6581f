#include "organize/array_axes.h"

#include <fmt/format.h>

#include <algorithm>

#include "headscope/base/error.h"

namespace headscope {
namespace {

using Range = std::optional<std::pair<std::size_t, std::size_t>>;

std::vector<std::size_t> select_range(const Range& range, std::size_t skip_first, std::size_t extent,
                                      std::string_view axis, std::string_view where) {
  const auto [begin, end] = range.value_or(std::pair<std::size_t, std::size_t>{0, extent});
  if (begin >= end || end > extent) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {} {} to {} requested, expected a range within 0 to {}", where,
                            axis == "query" ? "queries" : "keys", begin, end, extent));
  }
  std::vector<std::size_t> chosen;
  for (std::size_t i = std::max(begin, skip_first); i < end; ++i) chosen.push_back(i);
  if (chosen.size() < 2) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: {} {} left, expected at least 2: there is nothing to organize", where, chosen.size(),
                            axis == "query" ? "queries" : "keys"));
  }
  return chosen;
}

void check_exists(std::span<const std::size_t> wanted, std::size_t count, std::string_view what,
                  std::string_view where) {
  for (const std::size_t one : wanted) {
    if (one < count) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {} {} requested, but there are {}, numbered from 0", where, what, one, count));
  }
}

bool wanted(std::span<const std::size_t> list, std::size_t one) {
  return list.empty() || std::ranges::find(list, one) != list.end();
}

}  // namespace

ArrayAxes read_axes(std::span<const std::size_t> shape, const NetworkTensorOptions& options, std::string_view where) {
  const std::string& names = options.axes;
  if (names != "hqk" && names != "lhqk" && names != "qkh" && names != "qk") {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("unknown axes '{}'; expected one of hqk, lhqk, qkh, qk", printable(names)));
  }
  if (shape.size() != names.size()) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: the array is {}, which does not match the {} axes of '{}'", where,
                                                to_string(shape), names.size(), names));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) {
      throw Error(ErrorKind::kFormat,
                  fmt::format("{}: the array is {}, expected at least 1 along every axis", where, to_string(shape)));
    }
  }
  ArrayAxes axes;
  if (names == "qkh") {
    axes = {shape[2], shape[0], shape[1], 1, shape[1] * shape[2], shape[2], 0};
  } else {
    const std::size_t queries = shape[shape.size() - 2];
    const std::size_t keys = shape.back();
    std::size_t heads = 1;
    for (std::size_t i = 0; i + 2 < shape.size(); ++i) heads *= shape[i];
    axes = {heads, queries, keys, queries * keys, keys, 1, names == "lhqk" ? shape[1] : 0};
  }
  if (options.heads_per_layer && names != "lhqk") {
    axes.heads_per_layer = *options.heads_per_layer;
    if (axes.heads_per_layer == 0 || axes.heads % axes.heads_per_layer != 0) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: {} heads are not a multiple of {} heads per layer", where,
                                                  axes.heads, axes.heads_per_layer));
    }
  }
  if (!options.head_names.empty() && options.head_names.size() != axes.heads) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: {} names for {} heads, expected one per head", where,
                                                options.head_names.size(), axes.heads));
  }
  return axes;
}

Selection select(const ArrayAxes& axes, const NetworkTensorOptions& options, std::string_view where) {
  if (!options.layers.empty() && axes.heads_per_layer == 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: layers requested, but the array does not tell to which layer a head belongs; "
                            "use axes lhqk, or choose heads",
                            where));
  }
  const std::size_t in_layer = axes.heads_per_layer == 0 ? axes.heads : axes.heads_per_layer;
  check_exists(options.layers, axes.heads / in_layer, "layer", where);
  check_exists(options.heads, in_layer, "head", where);
  Selection chosen;
  for (std::size_t h = 0; h < axes.heads; ++h) {
    if (!wanted(options.layers, h / in_layer) || !wanted(options.heads, h % in_layer)) continue;
    chosen.heads.push_back(h);
    chosen.head_names.push_back(!options.head_names.empty() ? options.head_names[h]
                                : axes.heads_per_layer == 0 ? fmt::format("H{}", h)
                                                            : fmt::format("L{}H{}", h / in_layer, h % in_layer));
  }
  chosen.queries = select_range(options.queries, options.skip_first, axes.queries, "query", where);
  chosen.keys = select_range(options.keys, options.skip_first, axes.keys, "key", where);
  return chosen;
}

}  // namespace headscope
