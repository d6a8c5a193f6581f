#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "headscope/base/ranks.h"

namespace headscope {

class AffinityEngine;  // relate/affinity_engine.h
class TreeDistance;    // organize/tree_distance.h

/// Thrown by `Context::poll` or `Context::on_progress` to cancel a computation. Not a std::exception, so that nothing
/// takes it for an error.
struct Cancelled {
  virtual ~Cancelled() = default;
  bool resumable = false;  ///< The same request continues from what was finished.
};

/// The default memory budget, in bytes.
inline constexpr std::size_t kDefaultMemory = std::size_t{8} << 30;

/// How a computation runs, as opposed to what it computes: memory, device, ranks, progress, cancellation. Passed beside
/// the options of every long computation. A copy is cheap.
///
/// Only the device engines affect a result, and of it only the last bits.
struct Context {
  /// Memory in bytes that the computation may take, per rank; see base/memory.h.
  std::size_t memory = kDefaultMemory;
  /// What is taken already and not part of `memory`, and the budget that both come from (0: their sum). For messages.
  std::size_t taken = 0;
  std::size_t budget = 0;
  /// Whether the budget is that of the whole process, as on the command line, and not that of a call alone.
  bool whole_process = false;
  /// The processes that share the work. All of them make the same call with the same options. Must outlive the call.
  std::reference_wrapper<Ranks> ranks = one_rank();
  /// Engines of a device; null for the CPU.
  std::shared_ptr<const AffinityEngine> affinity_engine = {};
  std::shared_ptr<const TreeDistance> tree_distance = {};
  /// Called periodically on the calling thread with the current stage and the fraction of it that is done. May throw to
  /// cancel.
  std::function<void(std::string_view stage, double fraction)> on_progress = {};
  /// Called at least as often as `on_progress`, to ask whether the work should go on. Throws to cancel.
  std::function<void()> poll = {};
  /// Receives human-readable lines about circumstances, such as a device that falls back to the CPU for some heads.
  std::function<void(std::string_view line)> log = {};
  /// Name of the current stage, e.g. "comparing heads".
  std::string stage = {};

  /// Reports that this fraction of the stage is done. \throws  whatever `poll` or `on_progress` throw.
  void report(double fraction) const {
    if (poll) poll();
    if (on_progress) on_progress(stage, fraction);
  }
  /// A context whose reports go to `on_progress` as the part of the stage between the fractions `begin` and `end`.
  [[nodiscard]] Context part(double begin, double end) const;
  /// A context that reports another stage.
  [[nodiscard]] Context with_stage(std::string name) const;
  /// A context with another memory budget, of which nothing is taken.
  [[nodiscard]] Context with_memory(std::size_t bytes) const;
  /// A context in which this much of the memory is taken already; none is left if there was less.
  [[nodiscard]] Context without_memory(std::size_t bytes) const;
  /// A context for work that a single rank does on its own.
  [[nodiscard]] Context on_one_rank() const;
};

}  // namespace headscope
