#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headscope/app/compare.h"
#include "headscope/base/context.h"
#include "headscope/run/run_contents.h"

namespace headscope::app {

/// A run to be compared, and what it contains.
struct OpenedRun {
  std::filesystem::path path;
  std::optional<RunContents> contents;  ///< Nothing if the folder has no manifest: maps alone are enough.
  bool has_maps = false;
  bool has_weights = false;  ///< Whether it has the informativeness of pairs of roles.
};

/// Opens the runs of a request.
/// \throws Error  kIo if there is no such folder; kFormat if one contains nothing to compare, or some contain maps and
///                others do not; otherwise as `RunContents`.
[[nodiscard]] std::vector<OpenedRun> open_runs(const CompareRequest& request);

/// Reads and organizes the maps of every input of a run, and reads its informativeness.csv if there is one.
/// \throws Error  as `load_maps` and `map_signature`; kFormat if informativeness.csv is malformed.
[[nodiscard]] ComparedNetwork load_network(const OpenedRun& run, const CompareRequest& request, const Context& context);

}  // namespace headscope::app
