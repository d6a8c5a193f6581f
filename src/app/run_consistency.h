#pragma once

#include <string>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/run/run_contents.h"

namespace headscope::app {

/// Sentences about what in a folder of results does not belong together, for people: commands that were run on
/// different models (--force), and results of `organize` and `softmax` from other maps than the folder has now. Reads
/// samples of the maps.
/// \throws Error  as `open_map_array`.
[[nodiscard]] std::vector<std::string> inconsistencies(const RunContents& run, const Context& context);

}  // namespace headscope::app
