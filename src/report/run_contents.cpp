#include "report/run_contents.h"

#include <fmt/format.h>

#include <algorithm>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/mapped_file.h"

namespace headscope::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxText = std::size_t{64} << 20;

JsonDocument open_manifest(const fs::path& folder) {
  const fs::path path = folder / "manifest.json";
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) {
    throw Error(ErrorKind::kIo, fmt::format("{}: is not a folder of results: it has no manifest.json; give the folder "
                                            "that was named with -o",
                                            printable(folder.string(), 4096)));
  }
  return JsonDocument::open(path);
}

MappedFile open_text(const fs::path& path) {
  MappedFile file = MappedFile::open(path);
  if (file.bytes().size() > kMaxText) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: has {} MB, more than the 64 MB that a page can show of a text", path.string(),
                            file.bytes().size() >> 20));
  }
  return file;
}

}  // namespace

RunContents::RunContents(fs::path folder) : folder_(std::move(folder)), manifest_(open_manifest(folder_)) {
  const JsonValue root = manifest_.root();
  if (!root.find("files").is_object() || !root.find("commands").is_object()) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: is not a manifest: expected objects 'files' and 'commands'", where("manifest.json")));
  }
  for (const auto [name, entry] : root.find("files").members()) {
    if (entry.is_object()) names_.emplace_back(name);
  }
}

bool RunContents::has(std::string_view name) const noexcept {
  return std::ranges::find(names_, name) != names_.end();
}

CsvRows RunContents::table(const std::string& name) const {
  const MappedFile file = open_text(folder_ / name);
  return parse_csv(as_text(file.bytes()), where(name));
}

JsonDocument RunContents::json(const std::string& name) const {
  const MappedFile file = open_text(folder_ / name);
  return JsonDocument::parse(as_text(file.bytes()), where(name));
}

NpyFile RunContents::array(const std::string& name, std::size_t axes) const {
  NpyFile file = NpyFile::open(folder_ / name);
  if (file.array().shape.size() != axes) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: is {}, expected {} axes", where(name), to_string(file.array().shape), axes));
  }
  return file;
}

}  // namespace headscope::report
