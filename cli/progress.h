#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "cli/session.h"

namespace headscope::cli {

/// Shows on stderr how much of a long computation is done. On a terminal, one line is overwritten and cleared at the
/// end; elsewhere, a plain line is printed from time to time. Stages that end within a second print nothing.
class Progress {
 public:
  explicit Progress(Session& session) : session_(session) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  /// This fraction of the stage is done. Another stage starts a new line.
  void reach(std::string_view stage, double fraction);

 private:
  using Clock = std::chrono::steady_clock;

  void clear();

  Session& session_;
  std::string stage_;
  double done_ = 0;
  Clock::time_point begin_;
  Clock::time_point next_;
  bool drawn_ = false;
};

}  // namespace headscope::cli
