#include "cli/run_output.h"

#include <utility>

namespace headscope::cli {

RunFolder begin_run(const Session& session, const std::filesystem::path& folder, RunCommand command, bool force) {
  command.arguments = session.arguments;
  return {folder, std::move(command), force};
}

}  // namespace headscope::cli
