#pragma once

#include <cstddef>

#include "headscope/base/context.h"

namespace headscope {

/// Reports how much of a pass is done, in steps: a layer of a batch, or its output.
class Progress {
 public:
  Progress(const Context& context, std::size_t steps) : context_(context), steps_(steps) {}

  /// Reports that this fraction of the current step, which may take seconds, is done. \throws  as `Context::report`.
  void report(double part) const { context_.report((static_cast<double>(done_) + part) / static_cast<double>(steps_)); }
  /// Ends the current step.
  void step() {
    ++done_;
    report(0);
  }

 private:
  const Context& context_;
  std::size_t steps_;
  std::size_t done_ = 0;
};

// Approximate fractions of a layer's work that are done after the projections and after attention.
inline constexpr double kProjected = 0.2;
inline constexpr double kAttended = 0.5;

}  // namespace headscope
