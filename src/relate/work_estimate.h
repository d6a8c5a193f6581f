#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace headscope {

/// Estimates the progress of a computation with two kinds of work, preparing heads and multiplying them, from the time
/// per unit and the remaining amount of each. Neither kind says anything about the other (on a device, preparing waits
/// for the disk).
///
/// The work is a list of steps, each of which prepares heads and multiplies others. If products overlap with
/// preparation, as on a device, a step takes as long as the longer of the two, otherwise as long as both together.
class WorkEstimate {
 public:
  struct Step {
    double heads = 0;
    double flops = 0;
    bool writes = false;  ///< The heads' role is O, whose matrices are transposed in most files.
  };

  /// Until both kinds have been observed, a head is assumed to cost as much as a product of `flops_of_head` flops.
  /// `now` returns seconds.
  WorkEstimate(std::vector<Step> steps, double flops_of_head, bool overlaps = false,
               std::function<double()> now = steady_seconds)
      : steps_(std::move(steps)), flops_of_head_(flops_of_head), overlaps_(overlaps), now_(std::move(now)) {
    step_begin_ = last_ = now_();
  }

  /// Ends a piece of work that started when the previous one ended.
  void prepared(std::size_t heads, bool writes) {
    const double seconds = pass();
    heads_[writes ? 1 : 0].learn(static_cast<double>(heads), seconds);
    done_.heads += static_cast<double>(heads);
  }
  /// The same for heads of the next step.
  void prepared_early(std::size_t heads, bool writes) {
    prepared(heads, writes);
    done_.heads -= static_cast<double>(heads);
    steps_[std::min(next_ + 1, steps_.size() - 1)].heads -= static_cast<double>(heads);
  }
  void multiplied(double flops) {
    const double seconds = pass();
    waited_ += seconds;
    done_.flops += flops;
    if (!overlaps_) flops_.learn(flops, seconds);
  }
  /// A product computed only to measure its time.
  void tried(double flops) { flops_.learn(flops, pass()); }
  /// Skips time that belongs to neither kind.
  void skip() {
    const double now = now_();
    step_begin_ += now - std::exchange(last_, now);
  }

  /// Starts the next step.
  void finish_step() {
    const double seconds = last_ - step_begin_;
    // If the products were waited for, they took the whole step; otherwise they took at most that long.
    constexpr double kNoticed = 0.1;
    if (overlaps_ && done_.flops > 0) {
      const bool waited = waited_ > kNoticed * seconds;
      if (waited || seconds < done_.flops * flops_.rate()) flops_.learn(done_.flops, seconds);
    }
    if (next_ < steps_.size()) ++next_;
    done_ = {};
    waited_ = 0;
    step_begin_ = last_;
  }

  /// Fraction of the time. Nondecreasing and always below 1.
  [[nodiscard]] double share() {
    constexpr double kAlmost = 0.9999;
    if (overlaps_ && !flops_.is_known()) return share_;  // heads say nothing about products
    const double left = seconds_left();
    const double share = spent_ + left > 0 ? spent_ / (spent_ + left) : 0;
    return share_ = std::max(share_, std::min(share, kAlmost));
  }

 private:
  // Seconds per unit of work. Later observations have more weight: the first heads come from a disk that has just
  // started to read, the first products from kernels that have just been loaded.
  class Rate {
   public:
    void learn(double amount, double seconds) {
      seen_ += amount;
      seconds_ += seen_ * seen_ * seconds;
      amounts_ += seen_ * seen_ * amount;
    }
    [[nodiscard]] bool is_known() const noexcept { return amounts_ > 0; }
    [[nodiscard]] double rate() const noexcept { return is_known() ? seconds_ / amounts_ : 0; }

   private:
    double seen_ = 0;
    double seconds_ = 0;  // both weighted by the square of the amount seen so far
    double amounts_ = 0;
  };

  static double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  double pass() {
    const double now = now_();
    const double seconds = now - std::exchange(last_, now);
    spent_ += seconds;
    return seconds;
  }

  [[nodiscard]] double seconds_left() const {
    double of_flop = flops_.rate();
    if (!flops_.is_known()) of_flop = std::max(heads_[0].rate(), heads_[1].rate()) / flops_of_head_;
    const auto of_head = [&](bool writes) {
      const Rate& own = heads_[writes ? 1 : 0];
      const Rate& other = heads_[writes ? 0 : 1];
      return own.is_known() ? own.rate() : other.is_known() ? other.rate() : of_flop * flops_of_head_;
    };
    double left = 0;
    for (std::size_t i = next_; i < steps_.size(); ++i) {
      const Step done = i == next_ ? done_ : Step{};
      const double preparing = std::max(0.0, steps_[i].heads - done.heads) * of_head(steps_[i].writes);
      double multiplying = std::max(0.0, steps_[i].flops - done.flops) * of_flop;
      if (!overlaps_) {
        left += preparing + multiplying;
        continue;
      }
      // Started products are not done yet.
      if (i == next_) multiplying = std::max(0.0, steps_[i].flops * of_flop - (last_ - step_begin_));
      left += std::max(preparing, multiplying);
    }
    return left;
  }

  std::vector<Step> steps_;
  double flops_of_head_;
  bool overlaps_;
  std::function<double()> now_;
  std::size_t next_ = 0;  // index into steps_
  Step done_;             // in that step
  double waited_ = 0;     // seconds, for its products
  double step_begin_ = 0;
  double last_ = 0;
  double spent_ = 0;
  Rate heads_[2];  // of roles that read, of roles that write
  Rate flops_;
  double share_ = 0;
};

}  // namespace headscope
