#include "headscope/base/context.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headscope {

Context Context::part(double begin, double end) const {
  Context context = *this;
  if (on_progress) {
    context.on_progress = [report = on_progress, begin, end](std::string_view name, double fraction) {
      report(name, std::lerp(begin, end, fraction));  // exactly `end` at the end
    };
  }
  return context;
}

Context Context::with_stage(std::string name) const {
  Context context = *this;
  context.stage = std::move(name);
  return context;
}

Context Context::with_memory(std::size_t bytes) const {
  Context context = *this;
  context.memory = bytes;
  context.taken = 0;
  context.budget = 0;
  return context;
}

Context Context::without_memory(std::size_t bytes) const {
  Context context = *this;
  if (context.budget == 0) context.budget = memory + taken;
  context.taken += bytes;
  context.memory -= std::min(memory, bytes);
  return context;
}

Context Context::on_one_rank() const {
  Context context = *this;
  context.ranks = one_rank();
  return context;
}

}  // namespace headscope
