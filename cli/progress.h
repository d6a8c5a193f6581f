#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "cli/session.h"
#include "headscope/base/context.h"

namespace headscope::cli {

/// Says on stderr how far a long piece of work has come. On a terminal one line is
/// drawn over and over and wiped at the end; elsewhere a plain line now and then.
/// Work that ends within a second prints nothing.
class Progress {
 public:
  Progress(Session& session, std::string label, std::size_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// One more of the `total` pieces is done.
  void advance() { reach(done_ + 1); }
  /// So many of them are done.
  void reach(std::size_t done);

  /// A context of one rank whose work reports here and is interrupted by signals. This object must outlive it.
  [[nodiscard]] Context context(std::size_t memory = Context().memory);

 private:
  using Clock = std::chrono::steady_clock;

  Session& session_;
  std::string label_;
  std::size_t total_;
  std::size_t done_ = 0;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_;
  bool drawn_ = false;
};

}  // namespace headscope::cli
