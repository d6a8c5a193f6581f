#include "headscope/patch/component_cut.h"

#include <fmt/format.h>

#include "headscope/base/error.h"

namespace headscope {

void check_cut(const ComponentCut& cut, const HeadSizes& sizes, bool parallel) {
  const auto fail = [](const std::string& why) { throw Error(ErrorKind::kInvalidArgument, why); };
  const ComponentId& target = cut.target;
  if (cut.source.key_value) {
    fail(fmt::format("{} reads: an edge begins with a query head", to_string(cut.source)));
  }
  if (!sizes.layer_of(cut.source)) {
    fail(fmt::format("the model has no head {}: it has {}", to_string(cut.source), sizes.text()));
  }
  if (target.kind != ComponentKind::kMlp && target.kind != ComponentKind::kUnembedding) {
    fail(fmt::format("expected an MLP such as L4M, or U, found {}", to_string(target)));
  }
  if (target.kind == ComponentKind::kMlp && !layer_of_mlp(target, sizes)) {
    fail(fmt::format("the model has no {}: it has {}", to_string(target), sizes.text()));
  }
  if (!precedes(cut.source, target, parallel)) {
    fail(fmt::format("{} does not read after {} writes: nothing flows from one to the other", to_string(target),
                     to_string(cut.source)));
  }
}

void require_read_by_unembedding(const Network& network) {
  if (network.stage && network.stage->to_next) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("the unembedding does not read the stream of this stage: stage {} of {}",
                            network.stage->index + 1, network.stage->count));
  }
  if (network.side_streams.out.empty()) return;
  throw Error(ErrorKind::kUnsupported,
              "cannot cut edges to the unembedding of this model: it reads the mean of several streams");
}

}  // namespace headscope
