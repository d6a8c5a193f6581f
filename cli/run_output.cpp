#include "cli/run_output.h"

#include <utility>

#include "cli/host.h"

namespace headscope::cli {

RunFolder begin_run(const Session& session, const std::filesystem::path& folder, RunCommand command, bool force) {
  command.arguments = session.arguments;
  if (session.host != nullptr && session.host->held != nullptr) return {std::move(command), *session.host->held};
  return {folder, std::move(command), force};
}

void describe_model(RunCommand& command, const Model& model, const std::string& fingerprint) {
  command.identity["model"] = fingerprint;
  if (model.info().family_overridden) command.identity["family"] = model.info().family;
  const ModelLocation& location = model.checkpoint().location();
  if (!location.is_cached()) return;
  command.circumstances["repository"] = location.repository;
  command.circumstances["commit"] = location.commit;
}

}  // namespace headscope::cli
