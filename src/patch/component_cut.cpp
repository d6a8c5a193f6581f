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
  if (cut.source.layer >= sizes.layers || cut.source.head >= sizes.heads) {
    fail(fmt::format("the model has no head {}: it has {} layers of {} heads", to_string(cut.source), sizes.layers,
                     sizes.heads));
  }
  if (target.kind != ComponentKind::kMlp && target.kind != ComponentKind::kUnembedding) {
    fail(fmt::format("expected an MLP such as L4M, or U, found {}", to_string(target)));
  }
  if (target.kind == ComponentKind::kMlp && target.layer >= sizes.layers) {
    fail(fmt::format("the model has no {}: it has {} layers", to_string(target), sizes.layers));
  }
  if (!precedes(cut.source, target, parallel)) {
    fail(fmt::format("{} does not read after {} writes: nothing flows from one to the other", to_string(target),
                     to_string(cut.source)));
  }
}

}  // namespace headscope
