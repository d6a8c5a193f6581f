#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "headscope/app/request_parts.h"
#include "headscope/base/error.h"
#include "headscope/io/finished_work.h"

namespace headscope::app {

/// What a command has finished, kept in the folder of its results until they are complete, so that the same command
/// resumes after an interruption. Results in memory have no such folder: nothing is kept.
class Resumable {
 public:
  /// Removes what an interrupted run left, unless it is to be resumed. `command` must outlive this object.
  Resumable(const OutputTarget& output, const Resumption& resumption, std::string_view command)
      : run_(output.run), command_(command), save_every_(resumption.save_every) {
    if (!resumption.resume) remove();
  }

  /// Finds what an earlier run with the same key has finished; null without a folder. `key` and `rank` are those of
  /// `FinishedWork`. The result is valid as long as this object.
  [[nodiscard]] FinishedWork* open(std::string key, std::size_t rank = 0) {
    if (run_.empty()) return nullptr;
    return &work_.emplace(run_, command_, std::move(key), rank, save_every_);
  }

  /// Runs the part that takes long. Whatever ends it, what is finished is saved; a `Cancelled` says whether it is.
  template <typename Compute>
  auto run(const Compute& compute) {
    try {
      return compute();
    } catch (Cancelled& cancelled) {
      save();
      cancelled.resumable = work_ && work_->is_on_disk();
      throw;
    } catch (...) {
      save();
      throw;
    }
  }

  /// As `FinishedWork::save`.
  void save() {
    if (work_) work_->save();
  }

  /// Removes what is kept: the results are complete.
  void remove() const noexcept {
    if (!run_.empty()) FinishedWork::remove(run_, command_);
  }

 private:
  std::filesystem::path run_;
  std::string_view command_;
  double save_every_;
  std::optional<FinishedWork> work_;
};

}  // namespace headscope::app
