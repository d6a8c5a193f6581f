#include "headscope/model/readiness.h"

#include <fmt/format.h>

namespace headscope {

std::vector<Readiness> readiness(const ModelInfo& info) {
  std::vector<Readiness> all;
  all.push_back({"inspect", true, "needs the headers alone"});
  if (!info.missing.empty()) {
    all.push_back(
        {"relate", false,
         fmt::format("{} tensors are missing, the first is '{}'", info.missing.size(), info.missing.front())});
  } else {
    all.push_back({"relate", true,
                   info.unembedding.empty() ? "Q, K, V and O of every layer; no token profiles, there is no vocabulary"
                                            : "Q, K, V and O of every layer, and token profiles"});
  }
  return all;
}

}  // namespace headscope
