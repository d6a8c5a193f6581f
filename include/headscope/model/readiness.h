#pragma once

#include <string>
#include <vector>

#include "headscope/model/model.h"

namespace headscope {

/// Whether a command can run on a model, and why or why not.
struct Readiness {
  std::string command;
  bool ready;
  std::string reason;
};

/// Reports for each command whether the model's tensors allow it.
[[nodiscard]] std::vector<Readiness> readiness(const Model& model);

}  // namespace headscope
