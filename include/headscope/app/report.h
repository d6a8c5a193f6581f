#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headscope/app/command.h"
#include "headscope/base/context.h"
#include "headscope/report/page.h"

namespace headscope {

/// One page of everything that a folder of results contains.
struct ReportRequest {
  static constexpr CommandInfo kCommand = {.name = "report",
                                           .about = "One interactive page of everything in a folder of results",
                                           .example = "report runs/gpt2 -o gpt2.html"};

  std::filesystem::path run = {};
  std::filesystem::path page = {};             ///< "-" and "/dev/stdout" keep the page in the outcome.
  std::string title = {};                      ///< Empty: the name of the folder.
  std::size_t max_data = PageOptions().bytes;  ///< Bytes of affinities and, separately, of maps; see PageOptions.
  bool thumbnails = true;                      ///< Images behind their patches.
  std::vector<HeadId> keep = {};               ///< Heads whose maps are not averaged; see PageOptions.
  bool force = false;
  std::size_t memory = kDefaultMemory;  ///< Budget; see base/memory.h.
};
void describe(ReportRequest& request, OptionList& options);

struct ReportOutcome {
  std::filesystem::path page;
  std::size_t bytes = 0;
  std::vector<std::string> sections;  ///< E.g. "relate", "capture".
  std::vector<std::string> notes;     ///< What was averaged or left out.
  std::string html = {};              ///< The page itself if it goes to standard output; else it is in the file.
  RunFiles files;                     ///< Always empty: a page is not part of a run.
};

/// Builds the page and writes it.
/// \throws Error  as `build_page`; kInvalidArgument if the file exists and is not a page, unless `force` is set.
[[nodiscard]] std::optional<ReportOutcome> run(const ReportRequest& request, const Context& context = {});

/// What the page has and where it is, or the page itself if it goes to standard output.
[[nodiscard]] std::string summary(const ReportOutcome& outcome);
[[nodiscard]] std::string to_json(const ReportOutcome& outcome);

}  // namespace headscope
