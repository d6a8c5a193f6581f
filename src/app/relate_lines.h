#pragma once

#include <string>

#include "app/json_text.h"
#include "headscope/relate/relate.h"

namespace headscope::app {

/// Lines of relate's summary about the informativeness of all role pairs: each with its interval, or that it is at its
/// ceiling, or why there is no interval. Empty if it was not computed.
[[nodiscard]] std::string informativeness_lines(const RelateResult& result);

/// The sentence about the sensitivity, for the summary: the smallest rank correlation and the smallest overlap, and of
/// how many comparisons. Empty if it was not requested.
[[nodiscard]] std::string sensitivity_sentence(const RelateResult& result);
/// The same as a line.
[[nodiscard]] std::string sensitivity_line(const RelateResult& result);
[[nodiscard]] Json sensitivity_json(const RelateResult& result);

}  // namespace headscope::app
