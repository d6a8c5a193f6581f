#include "cli/host.h"

namespace headscope::cli {

std::shared_ptr<const Model> open_model(const Session& session, const ModelWords& words) {
  if (session.host != nullptr && session.host->model) return session.host->model;
  return std::make_shared<const Model>(Model::open(words.model, {.revision = words.revision, .family = words.family}));
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
