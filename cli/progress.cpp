#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/host.h"
#include "cli/interrupt.h"

namespace headscope::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kSilence = 1s;        // shorter work needs no progress
constexpr auto kRedraw = 100ms;      // on a terminal
constexpr auto kBetweenLines = 10s;  // in a log

// "45 s", "12 min", "3.5 h": as long as it is worth knowing.
std::string in_words(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

Progress::Progress(Session& session, std::string label, std::size_t total)
    : session_(session), label_(std::move(label)), total_(total), next_(begin_ + kSilence) {}

Progress::~Progress() {
  if (drawn_ && session_.terminal) session_.err << "\r\x1b[K" << std::flush;
}

Context Progress::context(std::size_t memory) {
  Context context;
  context.memory = memory;
  context.poll = check_for_interrupt;
  context.on_progress = [this](std::string_view, double share) {
    reach(static_cast<std::size_t>(share * static_cast<double>(total_)));
  };
  return context;
}

void Progress::reach(std::size_t done) {
  done_ = std::max(done_, done);  // parts that count for themselves may report out of order
  if (session_.host != nullptr && session_.host->watch) {
    session_.host->watch(label_, static_cast<double>(done_) / static_cast<double>(total_));
  }
  const auto now = Clock::now();
  if (session_.quiet || now < next_ || done_ == 0 || done_ == total_) return;
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  const double left = elapsed / static_cast<double>(done_) * static_cast<double>(total_ - done_);
  const double percent = 100 * static_cast<double>(done_) / static_cast<double>(total_);
  const std::string text = fmt::format("{}: {:.0f} %, {} left", label_, percent, in_words(left));
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
