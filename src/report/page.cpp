#include "headscope/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "report/page_data.h"
#include "report/template.h"

namespace headscope {
namespace {

using report::Json;
using report::PageData;

// Placeholder for the data; occurs once in the template.
constexpr std::string_view kPlace = "<!--headscope-data-->";

// What the page takes, estimated from the sizes of the files: texts by what they become when they are read, matrices
// with the values that their histograms count, one map at a time, and the data in the page.
std::size_t page_memory(const RunContents& contents, const PageOptions& options) {
  constexpr std::size_t kTable = 14;   // per byte; one-digit cells
  constexpr std::size_t kObject = 48;  // per byte of JSON; one-digit numbers
  std::size_t bytes = saturating_multiply(options.bytes, 8);
  std::size_t matrix = 0;
  for (const std::string& name : contents.names()) {
    std::error_code missing;
    const std::uintmax_t size = std::filesystem::file_size(contents.folder() / name, missing);
    if (missing) continue;
    if (name.ends_with(".csv")) bytes = saturating_add(bytes, saturating_multiply(size, kTable));
    if (name.ends_with(".json")) bytes = saturating_add(bytes, saturating_multiply(size, kObject));
    if (!name.ends_with(".npy")) continue;
    const JsonValue shape = contents.manifest().find("files").find(name).find("shape");
    std::vector<std::size_t> extents;
    for (const JsonValue extent : shape.items()) extents.push_back(extent.as_unsigned().value_or(1));
    const std::size_t maps = extents.size() == 3 ? std::max<std::size_t>(1, extents.front()) : 1;
    matrix = std::max(matrix, saturating_multiply(size / maps, 4));
  }
  return saturating_add(bytes, matrix);
}

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

// The main block as JSON. Takes the text of the tables.
std::string main_text(PageData& page) {
  constexpr std::string_view kTables = "{\"tables\":";
  constexpr std::string_view kNull = "null";
  // Text from files may contain any bytes; invalid UTF-8 is replaced rather than rejected.
  std::string root = page.root.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (page.tables.empty()) return root;
  std::string text = std::move(page.tables);
  text.insert(0, kTables);
  return text.append(root, kTables.size() + kNull.size());
}

std::string assemble(PageData& page, report::Blocks& blocks) {
  const std::string text = main_text(page);
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
  require_memory(context, page_memory(contents, options), fmt::format("{}: a page of it", run.string()));
  PageData page{contents, options, context};
  page.notes = options.notes;
  report::add_tables(page);
  report::add_affinities(page);
  report::add_trees(page);
  report::add_axes(page);
  report::add_maps(page);
  report::add_paraproducts(page);
  report::add_pruning(page);
  report::add_comparison(page);
  if (page.root.empty()) {
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("{}: holds nothing to show; run relate, capture, detect, organize, softmax, patch, prune or "
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
