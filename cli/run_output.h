#pragma once

#include <filesystem>
#include <string>

#include "cli/session.h"
#include "headscope/io/run_folder.h"
#include "headscope/model/model.h"

namespace headscope::cli {

/// Where a command's results go: the folder that -o names, or the host's memory. Its manifest gets the command as it
/// was typed.
///
/// \throws Error  as RunFolder.
[[nodiscard]] RunFolder begin_run(const Session& session, const std::filesystem::path& folder, RunCommand command,
                                  bool force);

/// Writes into a command what it says of its model: the fingerprint, and the family if it was overridden, decide the
/// result; the name and commit in the Hugging Face cache do not.
void describe_model(RunCommand& command, const Model& model, const std::string& fingerprint);

}  // namespace headscope::cli
