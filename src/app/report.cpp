#include "headscope/app/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <system_error>

#include "app/json_text.h"
#include "app/run_consistency.h"
#include "app/run_output.h"
#include "headscope/app/request_parts.h"
#include "headscope/base/error.h"
#include "headscope/io/atomic_file.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/mapped_file.h"
#include "headscope/report/page.h"

namespace headscope {
namespace {

// How every page begins; see web/template.html.
constexpr std::string_view kPageBegin = "<!doctype html><!-- headscope report -->";

// A page may be replaced by a newer one, anything else only on request.
void check_output(const ReportRequest& request) {
  if (request.page.empty()) {
    throw Error(ErrorKind::kInvalidArgument, "--output: expected the name of a page, e.g. report.html, found ''");
  }
  if (is_standard_output(request.page)) return;
  std::error_code ignored;
  if (std::filesystem::is_directory(request.page, ignored)) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("--output: {} is a folder; give the name of a page, e.g. report.html", request.page.string()));
  }
  // Devices and pipes are written to; reading one would wait.
  if (request.force || !std::filesystem::is_regular_file(request.page, ignored)) return;
  const MappedFile page = MappedFile::open(request.page);
  if (as_text(page.bytes()).starts_with(kPageBegin)) return;
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: exists and is not a report; choose another name, or "
                                                       "--force to replace it",
                                                       request.page.string()));
}

}  // namespace

void describe(ReportRequest& request, OptionList& options) {
  options.add("run", request.run, "Folder of results that other commands wrote").positional().required();
  options.add("page", request.page, "The page, e.g. report.html; - for standard output")
      .spelled("-o,--output")
      .required();
  options.add("title", request.title, "Title of the page (default: the name of the folder)");
  options.add("max-data", request.max_data, size_form(),
              "Size of the matrices and, separately, of the maps in the page; larger ones are averaged or left out");
  options.add("keep", request.keep, head_form(),
              "Heads whose maps are kept at full resolution if the others are averaged, e.g. L4H7,L5H1");
  options.add("thumbnails", request.thumbnails, "Leave out the small copies of images that capture kept");
  options.add("force", request.force, "Replace a file that is not a report");
  options.add("memory", request.memory, size_form(), "Memory budget, e.g. 8G").circumstantial();
}

std::optional<ReportOutcome> run(const ReportRequest& request, const Context& caller) {
  const Context context = app::make_context({.memory = request.memory}, caller);
  check_output(request);
  PageOptions options;
  options.title = request.title;
  options.bytes = request.max_data;
  options.thumbnails = request.thumbnails;
  options.keep = request.keep;
  options.program = fmt::format("headscope {}", version());
  options.notes = app::inconsistencies(RunContents(request.run), context);
  Page page = build_page(request.run, options, context.with_stage("packing"));
  ReportOutcome outcome{request.page, page.html.size(), std::move(page.sections), std::move(page.notes), {}, {}};
  if (is_standard_output(request.page)) {
    for (const std::string& note : outcome.notes) {
      if (context.log) context.log(note);
    }
    outcome.html = std::move(page.html);
    return outcome;
  }
  AtomicFile file(request.page);
  file.write(page.html);
  if (context.poll) context.poll();
  file.commit();
  return outcome;
}

std::string summary(const ReportOutcome& outcome) {
  constexpr std::size_t kMaxLength = 4096;
  if (!outcome.html.empty()) return outcome.html;
  std::string text = fmt::format("One page of {}\n", fmt::join(outcome.sections, ", "));
  for (const std::string& note : outcome.notes) text += printable(note, kMaxLength) + "\n";
  return text + fmt::format("{} ({:.1f} MB)\n", printable(outcome.page.string(), kMaxLength),
                            static_cast<double>(outcome.bytes) / 1e6);
}

std::string to_json(const ReportOutcome& outcome) {
  if (!outcome.html.empty()) {
    return app::json_text(
        {{"html", outcome.html}, {"bytes", outcome.bytes}, {"sections", outcome.sections}, {"notes", outcome.notes}});
  }
  return app::json_text({{"page", outcome.page.string()},
                         {"bytes", outcome.bytes},
                         {"sections", outcome.sections},
                         {"notes", outcome.notes}});
}

}  // namespace headscope
