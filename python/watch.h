#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "headscope/base/context.h"

namespace headscope::python {

namespace nb = nanobind;

/// Thrown through native work when Python raised something: KeyboardInterrupt, or what the progress callback raised.
struct Stopped : Cancelled {};

/// Connects native work, which runs without the interpreter's lock, with Python: checks for Ctrl-C, reports progress,
/// and passes log lines on. What Python raised is kept for `rethrow`. The callables may be None.
class Watch {
 public:
  Watch(nb::object on_progress, nb::object on_log) : on_progress_(std::move(on_progress)), on_log_(std::move(on_log)) {}

  /// A context that reports here. This object must outlive it.
  [[nodiscard]] Context context() {
    Context context;
    context.poll = [this] { check(); };
    context.on_progress = [this](std::string_view stage, double fraction) { progress(stage, fraction); };
    context.log = [this](std::string_view line) { log(line); };
    return context;
  }
  /// Raises in Python what was kept. Needs the interpreter's lock.
  [[noreturn]] void rethrow() {
    raised_->restore();
    throw nb::python_error();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void check() {
    using namespace std::chrono_literals;
    if (!is_due(next_check_, 20ms)) return;
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() == 0) return;
    raised_.emplace();
    throw Stopped();
  }
  void progress(std::string_view stage, double fraction) {
    using namespace std::chrono_literals;
    if (on_progress_.is_none() || !is_due(next_progress_, 100ms)) return;
    call(on_progress_, stage, fraction);
  }
  void log(std::string_view line) {
    if (!on_log_.is_none()) call(on_log_, line);
  }
  template <typename... Arguments>
  void call(const nb::object& function, std::string_view text, Arguments... arguments) {
    const nb::gil_scoped_acquire acquire;
    try {
      function(nb::str(text.data(), text.size()), arguments...);
    } catch (nb::python_error& error) {
      raised_.emplace(std::move(error));
      throw Stopped();
    }
  }
  // Taking the lock costs microseconds, and milliseconds while another thread computes in Python.
  static bool is_due(Clock::time_point& next, Clock::duration pause) {
    const auto now = Clock::now();
    if (now < next) return false;
    next = now + pause;
    return true;
  }

  nb::object on_progress_;
  nb::object on_log_;
  std::optional<nb::python_error> raised_;
  Clock::time_point next_check_ = Clock::now() + std::chrono::milliseconds(20);
  Clock::time_point next_progress_ = Clock::now() + std::chrono::milliseconds(100);
};

}  // namespace headscope::python
