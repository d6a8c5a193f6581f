#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

namespace headscope {

/// How much of a computation of two kinds of work, preparing heads and multiplying them, is done: by the time each kind
/// has taken so far and by how much of it is left, since neither says anything about the other (on a device preparing
/// waits for the disk).
class WorkEstimate {
 public:
  /// `heads` are to be prepared, products of `flops` to be computed. As long as only one kind has been seen, a head is
  /// taken to cost as much as a product of `flops_of_head`. `now` gives seconds.
  WorkEstimate(double heads, double flops, double flops_of_head, std::function<double()> now = steady_seconds)
      : heads_{heads, flops_of_head}, flops_{flops, 1}, now_(std::move(now)), last_(now_()) {}

  /// Ends a piece of work that began when the last one ended.
  void prepared(std::size_t heads) { count(static_cast<double>(heads), heads_); }
  void multiplied(double flops) { count(flops, flops_); }
  /// Time that belongs to neither.
  void skip() { last_ = now_(); }

  /// Share of the time. Grows, and stays just below 1.
  [[nodiscard]] double share() {
    constexpr double kAlmost = 0.9999;
    const double left = seconds_left(heads_) + seconds_left(flops_);
    const double spent = heads_.seconds + flops_.seconds;
    const double share = spent + left > 0 ? spent / (spent + left) : 0;
    return share_ = std::max(share_, std::min(share, kAlmost));
  }

 private:
  struct Kind {
    double left = 0;
    double flops = 0;  // that one costs, about
    double done = 0;
    double seconds = 0;
  };

  static double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  void count(double amount, Kind& kind) {
    const double now = now_();
    kind.seconds += now - last_;
    kind.done += amount;
    kind.left = std::max(0.0, kind.left - amount);
    last_ = now;
  }

  [[nodiscard]] double seconds_left(const Kind& kind) const {
    if (kind.left <= 0) return 0;
    if (kind.done > 0) return kind.left * kind.seconds / kind.done;
    const double flops = heads_.done * heads_.flops + flops_.done;
    return flops > 0 ? kind.left * kind.flops * (heads_.seconds + flops_.seconds) / flops : 1;
  }

  Kind heads_;
  Kind flops_;
  std::function<double()> now_;
  double last_;
  double share_ = 0;
};

}  // namespace headscope
