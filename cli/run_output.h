#pragma once

#include <filesystem>

#include "cli/session.h"
#include "headscope/io/run_folder.h"

namespace headscope::cli {

/// The folder a command writes to, with the command as it was typed in its manifest.
/// \throws Error  as RunFolder.
[[nodiscard]] RunFolder begin_run(const Session& session, const std::filesystem::path& folder, RunCommand command,
                                  bool force);

}  // namespace headscope::cli
