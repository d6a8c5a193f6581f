#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

namespace headscope::python {

namespace nb = nanobind;

/// Thrown through native work where Python wants it to stop. Not a std::exception, so nothing on the way takes it for
/// an error.
struct Stopped {};

/// Asks Python now and then, from work that runs without the interpreter's lock, whether Ctrl-C was pressed, and tells
/// it how far the work has come. What Python raised is kept for `rethrow`.
class Watch {
 public:
  explicit Watch(nb::object on_progress) : on_progress_(std::move(on_progress)) {}

  /// \throws Stopped
  void check() {
    using namespace std::chrono_literals;
    if (!is_due(next_check_, 20ms)) return;
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) stop();
  }
  /// \throws Stopped
  void progress(std::string_view what, double share) {
    using namespace std::chrono_literals;
    if (on_progress_.is_none() || !is_due(next_progress_, 100ms)) return;
    const nb::gil_scoped_acquire acquire;
    try {
      on_progress_(nb::str(what.data(), what.size()), share);
    } catch (nb::python_error& error) {
      raised_.emplace(std::move(error));
      throw Stopped();
    }
  }
  /// Needs the interpreter's lock.
  [[noreturn]] void rethrow() {
    raised_->restore();
    throw nb::python_error();
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Taking the lock takes microseconds, and milliseconds where another thread computes in Python.
  static bool is_due(Clock::time_point& next, Clock::duration pause) {
    const auto now = Clock::now();
    if (now < next) return false;
    next = now + pause;
    return true;
  }
  [[noreturn]] void stop() {
    raised_.emplace();
    throw Stopped();
  }

  nb::object on_progress_;
  std::optional<nb::python_error> raised_;
  Clock::time_point next_check_ = Clock::now() + std::chrono::milliseconds(20);
  Clock::time_point next_progress_ = Clock::now() + std::chrono::milliseconds(100);
};

}  // namespace headscope::python
