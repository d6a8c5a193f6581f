#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace headscope::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kSilence = 1s;        // shorter stages need no progress
constexpr auto kRedraw = 100ms;      // on a terminal
constexpr auto kBetweenLines = 10s;  // in a log

// "45 s", "12 min", "3.5 h"
std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

void Progress::clear() {
  if (drawn_ && session_.terminal) session_.err << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

void Progress::reach(std::string_view stage, double fraction) {
  const auto now = Clock::now();
  if (stage != stage_) {
    clear();
    stage_ = stage;
    done_ = 0;
    begin_ = now;
    next_ = now + kSilence;
  }
  done_ = std::max(done_, fraction);
  if (session_.common.quiet || now < next_ || done_ <= 0 || done_ >= 1) return;
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  const std::string text =
      fmt::format("{}: {:.0f} %, {} left", stage_, 100 * done_, duration_text(elapsed / done_ * (1 - done_)));
  if (session_.terminal) {
    session_.err << '\r' << text << "\x1b[K" << std::flush;
    next_ = now + kRedraw;
  } else {
    session_.err << text << '\n';
    next_ = now + kBetweenLines;
  }
  drawn_ = true;
}

}  // namespace headscope::cli
