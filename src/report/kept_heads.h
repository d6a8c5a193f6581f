#pragma once

#include <span>
#include <string>
#include <vector>

#include "headscope/model/head_id.h"
#include "headscope/run/run_contents.h"

namespace headscope::report {

/// Returns the heads whose maps are worth keeping at full resolution, most important first and without duplicates:
/// those asked for; significant hubs (hubs.csv); ends of the circuit (patch.csv), the largest effect first; detected
/// heads (detectors.csv), the highest score first. A KV head stands for its query heads if heads.csv says which those
/// are.
[[nodiscard]] std::vector<std::string> heads_to_keep(const RunContents& run, std::span<const HeadId> asked);

}  // namespace headscope::report
