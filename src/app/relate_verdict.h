#pragma once

#include <string>
#include <vector>

#include "headscope/relate/relate.h"

namespace headscope::app {

/// What the results of relate support, in sentences: how many pairs of heads are beyond chance, the strongest of them,
/// and which heads are hubs. The first sentence is the headline.
[[nodiscard]] std::vector<std::string> relate_verdict(const RelateResult& result);

/// Lines of the summary about each role pair: counts, and its strongest edges beyond chance.
[[nodiscard]] std::string wiring_lines(const RelateResult& result);

/// Lines of the summary about significant hubs; empty if there are none.
[[nodiscard]] std::string hub_lines(const RelateResult& result);

}  // namespace headscope::app
