#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace headscope {

/// `pattern` with {i} replaced by the layer's number.
[[nodiscard]] std::string layer_name(std::string_view pattern, std::size_t layer);

/// How a tensor's name fits a pattern: what stands before it, and which layer it is of.
struct LayerMatch {
  std::string_view prefix;
  std::size_t layer;
};

/// Fits `name` to prefix + pattern, where the prefix is empty or ends in a dot.
[[nodiscard]] std::optional<LayerMatch> match_layer(std::string_view name, std::string_view pattern);

}  // namespace headscope
