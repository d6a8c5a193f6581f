#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "cli/compare_files.h"
#include "cli/session.h"
#include "headscope/apply/map_signature.h"

namespace headscope::cli {

/// Which maps of every RUN are compared.
struct CompareSourceOptions {
  std::string what = "pattern";
  std::size_t skip_first = 0;
  std::size_t max_inputs = 32;  ///< Of each RUN, the first ones.
  SignatureOptions signature = {};
};

/// Whether the folder holds maps, and whether it holds role-pair informativeness.
struct RunContents {
  bool maps = false;
  bool weights = false;
};

/// \throws Error  kIo if there is no such folder.
[[nodiscard]] RunContents look_into(const std::filesystem::path& folder, const std::string& what);

/// Reads and organizes the maps of every input of a RUN, and its informativeness.csv where there is one.
/// \throws Error  as `load_maps` and `map_signature`; kFormat if informativeness.csv is not what `relate` writes.
[[nodiscard]] ComparedSource load_compared(const std::filesystem::path& folder, const RunContents& contents,
                                           const CompareSourceOptions& options, const Session& session,
                                           const Context& context);

}  // namespace headscope::cli
