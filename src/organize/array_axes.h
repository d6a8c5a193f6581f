#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/organize/network_tensor.h"

namespace headscope {

/// An array as heads, queries and keys. Heads are numbered across layers, layer by layer.
struct ArrayAxes {
  std::size_t heads = 0;
  std::size_t queries = 0;
  std::size_t keys = 0;
  std::size_t head_stride = 0;
  std::size_t query_stride = 0;
  std::size_t key_stride = 0;
  std::size_t heads_per_layer = 0;  ///< 0 if not known.
};

/// \throws Error  kInvalidArgument if `options.axes` is unknown, kFormat if the shape does not fit it.
[[nodiscard]] ArrayAxes read_axes(std::span<const std::size_t> shape, const NetworkTensorOptions& options,
                                  std::string_view where);

/// The selected parts of an array, ascending; queries and keys are contiguous ranges.
struct Selection {
  std::vector<std::size_t> heads;
  std::vector<std::size_t> queries;
  std::vector<std::size_t> keys;
  std::vector<std::string> head_names;
};

/// \throws Error  kInvalidArgument if a selected layer, head or range does not exist; kUnsupported if fewer than two
///                queries or keys are left.
[[nodiscard]] Selection select(const ArrayAxes& axes, const NetworkTensorOptions& options, std::string_view where);

}  // namespace headscope
