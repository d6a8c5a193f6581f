#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace headscope {

/// Returns `pattern` with {i} replaced by the layer number.
[[nodiscard]] std::string layer_name(std::string_view pattern, std::size_t layer);

/// How a tensor's name matches a pattern: the prefix before it and the layer.
struct LayerMatch {
  std::string_view prefix;
  std::size_t layer;
};

/// Matches `name` against prefix + pattern, where the prefix is empty or ends in a dot.
[[nodiscard]] std::optional<LayerMatch> match_layer(std::string_view name, std::string_view pattern);

}  // namespace headscope
