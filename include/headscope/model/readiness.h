#pragma once

#include <string>
#include <vector>

#include "headscope/model/model.h"

namespace headscope {

/// Whether a command can do its work on a model, and why (not).
struct Readiness {
  std::string command;
  bool ready;
  std::string reason;
};

/// What a model's tensors allow, command by command.
[[nodiscard]] std::vector<Readiness> readiness(const Model& model);

}  // namespace headscope
