#include "cli/host.h"

#include <utility>

namespace headscope::cli {

std::shared_ptr<const Model> open_model(const Session& session, const std::filesystem::path& path) {
  if (session.host != nullptr && session.host->model) return session.host->model;
  return std::make_shared<const Model>(Model::open(path));
}

RunFolder open_run(const Session& session, const std::filesystem::path& path, RunCommand command, bool force) {
  if (session.host != nullptr && session.host->held != nullptr) {
    return RunFolder(std::move(command), *session.host->held);
  }
  return RunFolder(path, std::move(command), force);
}

const GivenArray* given_array(const Session& session, const std::filesystem::path& name) {
  if (session.host == nullptr) return nullptr;
  const auto found = session.host->arrays.find(name.string());
  return found == session.host->arrays.end() ? nullptr : &found->second;
}

const std::vector<ModelInput>* given_inputs(const Session& session, const std::filesystem::path& name) {
  if (session.host == nullptr) return nullptr;
  const auto found = session.host->inputs.find(name.string());
  return found == session.host->inputs.end() ? nullptr : &found->second;
}

}  // namespace headscope::cli
