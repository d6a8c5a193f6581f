#pragma once

#include <cstddef>
#include <functional>

namespace headscope {

/// Something to be done if the process has to end at once, while this object exists: removing a temporary file, say. In
/// any other case destructors do that. Thread-safe.
class EmergencyAction {
 public:
  explicit EmergencyAction(std::function<void()> action);
  EmergencyAction(const EmergencyAction&) = delete;
  EmergencyAction& operator=(const EmergencyAction&) = delete;
  ~EmergencyAction();

  /// Does all of them, latest first. Exceptions are ignored. Gives up if another thread is in the middle of adding or
  /// removing one and does not get done within a fraction of a second: that thread may be the one that failed.
  static void do_all() noexcept;

 private:
  std::size_t id_;
};

}  // namespace headscope
