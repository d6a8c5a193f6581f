#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "headscope/base/error.h"
#include "headscope/io/atomic_file.h"
#include "headscope/report/page.h"

namespace headscope::cli {
namespace {

struct Args {
  std::filesystem::path run;
  std::filesystem::path page;
  std::string title;
  bool force = false;
};

// How every page begins; see web/template.html.
constexpr std::string_view kPageBegin = "<!doctype html><!-- headscope report -->";

// A page may be replaced by a newer one, anything else only on request.
void check_output(const Args& args) {
  std::error_code ignored;
  if (std::filesystem::is_directory(args.page, ignored)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: is a folder; -o names the page, e.g. report.html", args.page.string()));
  }
  if (args.force || !std::filesystem::exists(args.page, ignored)) return;
  std::array<char, kPageBegin.size()> begin{};
  std::ifstream(args.page, std::ios::binary).read(begin.data(), begin.size());
  if (std::string_view(begin.data(), begin.size()) == kPageBegin) return;
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: exists and is not a report; choose another name, or "
                                                       "--force to replace it",
                                                       args.page.string()));
}

void run_report(const Args& args, Session& session) {
  check_output(args);
  watch_for_interrupts();
  constexpr std::size_t kSteps = 1000;
  Page page;
  {
    Progress progress(session, "packing", kSteps);
    PageOptions options;
    options.title = args.title;
    options.program = "headscope " HEADSCOPE_VERSION;
    page = build_page(args.run, options, progress.context());
  }
  AtomicFile file(args.page);
  file.write(page.html);
  check_for_interrupt();
  file.commit();
  session.out << fmt::format("{}: {}, {:.1f} MB\n", printable(args.page.string(), 4096), fmt::join(page.sections, ", "),
                             static_cast<double>(page.html.size()) / 1e6);
  for (const std::string& note : page.notes) session.out << printable(note, 2000) << '\n';
}

}  // namespace

void add_report_command(Command& app, Session& session) {
  auto args = std::make_shared<Args>();  // lives as long as the callback
  Command command = app.add_command("report", "One interactive page of whatever a folder of results holds");
  command.add_option("run", args->run, "Folder that other commands wrote with -o").required();
  command.add_option("-o,--output", args->page, "The page, e.g. report.html").required();
  command.add_option("--title", args->title, "Its title (default: the folder's name)");
  command.add_flag("--force", args->force, "Replace a file that is not a report");
  add_quiet_option(command, session);
  command.footer("Example: headscope report runs/gpt2 -o gpt2.html");
  command.callback([args, &session] { run_report(*args, session); });
}

}  // namespace headscope::cli
