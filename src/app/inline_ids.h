#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace headscope::app {

/// Returns the token ids of a text such as "1, 2, 3", "[1, 2, 3]" or "5"; nothing if it is anything else.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> parse_ids(std::string_view text);

/// Returns whether a text is most likely a list of token ids that someone printed: at least three numbers and nothing
/// but commas, blanks and brackets. A year or a date in a text is none.
[[nodiscard]] bool looks_like_ids(std::string_view text);

}  // namespace headscope::app
