#include "headscope/model/readiness.h"

#include <fmt/format.h>

#include "headscope/base/error.h"

namespace headscope {
namespace {

std::string missing_text(const std::vector<std::string>& missing) {
  return fmt::format("{} missing, the first is '{}'",
                     missing.size() == 1 ? "a tensor is" : fmt::format("{} tensors are", missing.size()),
                     printable(missing.front()));
}

}  // namespace

std::vector<Readiness> readiness(const ModelInfo& info) {
  std::vector<Readiness> all;
  all.push_back({"inspect", true, "needs the headers alone"});
  if (!info.missing.empty()) {
    all.push_back({"relate", false, missing_text(info.missing)});
  } else {
    all.push_back({"relate", true,
                   info.unembedding.empty() ? "Q, K, V and O of every layer; no token profiles, there is no vocabulary"
                                            : "Q, K, V and O of every layer, and token profiles"});
  }
  return all;
}

}  // namespace headscope
