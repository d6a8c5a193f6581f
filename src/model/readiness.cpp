#include "headscope/model/readiness.h"

#include <fmt/format.h>

#include "headscope/base/error.h"
#include "headscope/model/model_facts.h"
#include "headscope/model/network.h"

namespace headscope {
namespace {

std::string missing_text(const std::vector<std::string>& missing) {
  return fmt::format("{} missing, the first is '{}'",
                     missing.size() == 1 ? "a tensor is" : fmt::format("{} tensors are", missing.size()),
                     printable(missing.front()));
}

}  // namespace

std::vector<Readiness> readiness(const Model& model) {
  const ModelInfo& info = model.info();
  std::vector<Readiness> all;
  all.push_back({"inspect", true, "needs only the headers"});
  if (!info.missing.empty()) {
    all.push_back({"relate", false, missing_text(info.missing)});
  } else {
    all.push_back({"relate", true,
                   info.unembedding.empty()
                       ? "Q, K, V and O of every layer; no token profiles, since there is no vocabulary"
                       : "Q, K, V and O of every layer, and token profiles"});
  }
  std::string problem;
  try {
    static_cast<void>(resolve_network(model));
  } catch (const Error& error) {
    problem = error.what();
  }
  const std::string tokens = has_tokenizer(model.checkpoint())
                                 ? "text or token ids"
                                 : "token ids (--ids); no text, since there is no tokenizer";
  std::string takes = info.modality == Modality::kImage   ? "takes images (PNG, JPEG) or pixels"
                      : info.modality == Modality::kAudio ? "takes features of audio"
                                                          : "takes " + tokens;
  if (info.sizes.has_blocks()) {
    takes = fmt::format("{}, and a target as {}", takes,
                        has_tokenizer(model.checkpoint()) ? "text or token ids" : "token ids");
  }
  all.push_back({"capture", problem.empty(), problem.empty() ? takes : problem});
  const std::string blocks = info.sizes.has_blocks() && problem.empty() ? "it has an encoder and a decoder" : "";
  const bool simple = problem.empty() && blocks.empty();
  all.push_back({"detect", problem.empty(), problem.empty() ? "runs the model on random inputs" : "as for capture"});
  all.push_back(
      {"patch", problem.empty(), problem.empty() ? "cuts edges on inputs as capture takes them" : "as for capture"});
  all.push_back({"prune", simple,
                 simple           ? "measures on inputs as capture takes them"
                 : blocks.empty() ? "as for capture"
                                  : blocks});
  return all;
}

}  // namespace headscope
