#include "cli/run_output.h"

#include <utility>

#include "cli/host.h"

namespace headscope::cli {

RunFolder begin_run(const Session& session, const std::filesystem::path& folder, RunCommand command, bool force) {
  command.arguments = session.arguments;
  if (session.host != nullptr && session.host->held != nullptr) return {std::move(command), *session.host->held};
  return {folder, std::move(command), force};
}

}  // namespace headscope::cli
