#include "headscope/report/page.h"

#include <fmt/format.h>

#include "headscope/base/error.h"
#include "report/page_data.h"
#include "report/template.h"

namespace headscope {
namespace {

using report::Json;
using report::PageData;

// Placeholder for the data; occurs once in the template.
constexpr std::string_view kPlace = "<!--headscope-data-->";

std::string title_of(const std::filesystem::path& run) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(run, ignored);
  return (whole.has_filename() ? whole.filename() : whole.parent_path().filename()).string();
}

std::vector<std::string> commands_of(JsonValue manifest) {
  std::vector<std::string> names;
  for (const auto [name, ignored] : manifest.find("commands").members()) names.emplace_back(name);
  return names;
}

std::string assemble(const PageData& page, report::Blocks& blocks) {
  // Text from files may contain any bytes; invalid UTF-8 is replaced rather than rejected.
  const std::string text = page.root.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::size_t block = blocks.add(std::as_bytes(std::span(text)));
  const std::size_t place = kReportTemplate.find(kPlace);
  std::string html(kReportTemplate.substr(0, place));
  html += blocks.html();
  html += fmt::format("<meta name=\"headscope-main\" content=\"{}\">", block);
  html += kReportTemplate.substr(place + kPlace.size());
  return html;
}

}  // namespace

Page build_page(const std::filesystem::path& run, const PageOptions& options, const Context& context) {
  constexpr std::size_t kMaxText = std::size_t{64} << 20;
  const RunContents contents(run, kMaxText);
  PageData page{contents, options, context};
  report::add_tables(page);
  report::add_affinities(page);
  report::add_trees(page);
  report::add_axes(page);
  report::add_maps(page);
  report::add_paraproducts(page);
  report::add_pruning(page);
  report::add_comparison(page);
  if (page.root.empty()) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: holds nothing to show; run relate, capture, detect, organize, softmax, prune or "
                            "compare with -o {}",
                            printable(run.string(), 4096), printable(run.string(), 4096)));
  }
  page.root["format"] = 1;
  page.root["title"] = options.title.empty() ? title_of(run) : options.title;
  page.root["program"] = options.program;
  page.root["manifest"] = report::as_json(contents.manifest());
  page.root["notes"] = page.notes;
  return {assemble(page, page.blocks), commands_of(contents.manifest()), page.notes};
}

}  // namespace headscope
