#pragma once

#include <filesystem>

#include "cli/session.h"
#include "headscope/io/run_folder.h"

namespace headscope::cli {

/// Where a command's results go: the folder that -o names, or the host's memory. Its manifest gets the command as it
/// was typed.
///
/// \throws Error  as RunFolder.
[[nodiscard]] RunFolder begin_run(const Session& session, const std::filesystem::path& folder, RunCommand command,
                                  bool force);

}  // namespace headscope::cli
