#include "headscope/run/run_contents.h"

#include <fmt/format.h>

#include <algorithm>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/mapped_file.h"
#include "headscope/io/recognize.h"
#include "headscope/run/run_folder.h"
#include "headscope/run/schema.h"
#include "run/working_folder.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

Folder open_run(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    Folder folder = Folder::open(path);
    recover_before_reading(folder);  // the manifest may be what is missing
    if (fs::is_regular_file(path / run_files::kManifest, ignored)) return folder;
  }
  for (const char* tower : {"text", "vision", "stage1", "stage2", "stage3", "stage4"}) {
    if (!fs::is_regular_file(path / tower / run_files::kManifest, ignored)) continue;
    throw Error(ErrorKind::kIo, fmt::format("{}: holds results by tower of a model; give one of them, such as {}",
                                            printable(path.string(), 4096), printable((path / tower).string(), 4096)));
  }
  if (const std::string model = recognize_model(path); !model.empty()) {
    throw Error(ErrorKind::kIo, fmt::format("{}: {}", printable(path.string(), 4096), model));
  }
  if (!fs::exists(path, ignored)) {
    throw Error(ErrorKind::kIo, fmt::format("{}: no such folder; give the folder that was named with -o",
                                            printable(path.string(), 4096)));
  }
  throw Error(ErrorKind::kIo, fmt::format("{}: is not a folder of results: it has no manifest.json; give the folder "
                                          "that was named with -o",
                                          printable(path.string(), 4096)));
}

JsonDocument open_json(const MappedFile& file) {
  return JsonDocument::parse(as_text(file.bytes()), file.path().string());
}

std::string text_of(JsonValue object, std::string_view key) {
  return std::string(object.find(key).as_string().value_or(""));
}

std::vector<std::string> texts_of(JsonValue array) {
  std::vector<std::string> texts;
  for (const JsonValue item : array.items()) texts.emplace_back(item.as_string().value_or(""));
  return texts;
}

std::map<std::string, std::string> entries_of(JsonValue object) {
  std::map<std::string, std::string> entries;
  for (const auto [key, value] : object.members()) entries[std::string(key)] = value.as_string().value_or("");
  return entries;
}

std::map<std::string, std::vector<RunOrigin>> origins_by_kind(JsonValue object) {
  std::map<std::string, std::vector<RunOrigin>> origins;
  for (const auto [key, list] : object.members()) {
    for (const JsonValue one : list.items()) {
      origins[std::string(key)].push_back({text_of(one, "name"), text_of(one, "fingerprint")});
    }
  }
  return origins;
}

RunFile file_of(const std::string& name, JsonValue entry) {
  RunFile file{.name = name,
               .kind = text_of(entry, "kind"),
               .about = text_of(entry, "about"),
               .dtype = text_of(entry, "dtype"),
               .axes = texts_of(entry.find("axes"))};
  for (const JsonValue extent : entry.find("shape").items()) file.shape.push_back(extent.as_unsigned().value_or(0));
  return file;
}

}  // namespace

RunContents::RunContents(const fs::path& folder, std::size_t max_text)
    : folder_(open_run(folder)), manifest_(open_json(folder_.map(run_files::kManifest))), max_text_(max_text) {
  const JsonValue root = manifest_.root();
  if (!root.find("files").is_object() || !root.find("commands").is_object()) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: is not a manifest: expected objects 'files' and 'commands'", where("manifest.json")));
  }
  version_ = check_schema_version(root, where("manifest.json"));
  for (const auto [name, entry] : root.find("files").members()) {
    if (entry.is_object()) names_.emplace_back(name);
  }
}

bool RunContents::has(std::string_view name) const noexcept {
  return std::ranges::find(names_, name) != names_.end();
}

std::optional<std::string_view> RunContents::identity(std::string_view command, std::string_view key) const noexcept {
  return manifest().find("commands").find(command).find("identity").find(key).as_string();
}

std::vector<std::string> RunContents::verdict(std::string_view command) const {
  return texts_of(manifest().find("commands").find(command).find("verdict"));
}

MappedFile RunContents::open_text(const std::string& name) const {
  MappedFile file = map(name);
  if (file.bytes().size() > max_text_) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: has {} MB, more than the {} MB that a page can show of a text", where(name),
                            file.bytes().size() >> 20, max_text_ >> 20));
  }
  return file;
}

Table RunContents::table(const std::string& name) const {
  const FileSchema* schema = find_schema(name);
  return typed_table(text_table(name), schema == nullptr ? FileSchema{} : *schema, where(name));
}

CsvRows RunContents::text_table(const std::string& name) const {
  const MappedFile file = open_text(name);
  return parse_csv(as_text(file.bytes()), where(name));
}

JsonDocument RunContents::json(const std::string& name) const {
  return open_json(open_text(name));
}

NpyFile RunContents::array(const std::string& name, std::size_t axes) const {
  NpyFile file = NpyFile::open(map(name));
  if (file.array().shape.size() != axes) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: is {}, expected {} axes", where(name), to_string(file.array().shape), axes));
  }
  return file;
}

void save_run(const RunContents& from, const std::string& command, const fs::path& path, bool force) {
  const JsonValue described = from.manifest().find("commands").find(command);
  if (!described.is_object()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: holds no result of '{}'", from.folder().string(), printable(command)));
  }
  RunFolder to(path,
               {.name = command,
                .arguments = texts_of(described.find("arguments")),
                .identity = entries_of(described.find("identity")),
                .circumstances = entries_of(described.find("circumstances")),
                .origins = origins_by_kind(described.find("origins")),
                .verdict = texts_of(described.find("verdict"))},
               force);
  for (const std::string& name : from.names()) {
    const JsonValue entry = from.manifest().find("files").find(name);
    if (text_of(entry, "command") != command) continue;
    const MappedFile file = from.map(name);
    to.add_text(file_of(name, entry), as_text(file.bytes()));
  }
  to.commit();
}

}  // namespace headscope
