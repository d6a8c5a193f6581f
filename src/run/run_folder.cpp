#include "headscope/run/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/json.h"
#include "headscope/io/mapped_file.h"
#include "headscope/io/npy.h"
#include "headscope/io/npz.h"
#include "run/other_result.h"
#include "run/working_folder.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

using run_files::kManifest;

// Parses text that is known to be JSON and no deeper than JsonDocument allows.
Json parsed(const std::string& text) {
  return text.empty() ? Json::object() : Json::parse(text);
}

std::string read_manifest(const Folder& folder) {
  if (!folder.has(kManifest)) return {};
  const MappedFile file = folder.map(kManifest);
  const std::string where = file.path().string();
  std::string text(as_text(file.bytes()));
  const JsonDocument document = JsonDocument::parse(text, where);
  const JsonValue root = document.root();
  if (!root.is_object() || !root.find("files").is_object() || !root.find("commands").is_object()) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: is not a manifest: expected objects 'files' and 'commands'", where));
  }
  static_cast<void>(check_schema_version(root, where));
  return text;
}

// Returns a member of an object if it is an object too, otherwise an empty object: a manifest may contain anything.
Json member_of(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : Json::object();
}

std::string text_of(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json object_of(const std::map<std::string, std::string>& entries) {
  Json object = Json::object();
  for (const auto& [key, value] : entries) object[key] = value;
  return object;
}

// Removes folders, the last one first, that are empty.
void remove_empty(const std::vector<fs::path>& folders) {
  std::error_code ignored;
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) fs::remove(*folder, ignored);
}

}  // namespace

RunFile describe(const FileSchema& file, const Placeholders& placeholders, Shape shape) {
  RunFile described{.name = fill(file.path, placeholders),
                    .kind = std::string(file.kind),
                    .about = fill(file.about, placeholders),
                    .shape = std::move(shape)};
  for (const std::string_view axis : file.axes) {
    if (!axis.empty()) described.axes.push_back(fill(axis, placeholders));
  }
  return described;
}

RunFile describe_input(const FileSchema& file, std::size_t input, Shape shape, std::string_view block) {
  RunFile described = describe(file, {}, std::move(shape));
  described.name = block_folder(block) + input_folder(input) + described.name;
  return described;
}

std::size_t check_schema_version(JsonValue manifest, const std::string& where) {
  const JsonValue entry = manifest.find("schema");
  const auto version = entry.is_null() ? std::optional<std::uint64_t>(1) : entry.as_unsigned();
  if (!version) throw Error(ErrorKind::kFormat, fmt::format("{}: 'schema' is not a number", where));
  if (*version <= kRunSchema) return static_cast<std::size_t>(*version);
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: has version {} of the run folder's schema, written by a newer headscope; this one reads "
                          "versions 1 to {}",
                          where, *version, kRunSchema));
}

RunFolder::RunFolder(fs::path path, RunCommand command, bool force)
    : path_(std::move(path)), command_(std::move(command)), force_(force) {
  try {
    make_folder();
    folder_ = std::make_shared<const Folder>(Folder::open(path_));
    working_ = std::make_unique<WorkingFolder>(folder_, command_.name);
    read_previous();
    check_identity();
  } catch (...) {
    discard();
    throw;
  }
}

RunFolder::RunFolder(RunCommand command, InMemoryRun& held)
    : path_("memory"), command_(std::move(command)), force_(true), held_(&held) {}

RunFolder::RunFolder(RunFolder&&) noexcept = default;

RunFolder::~RunFolder() {
  discard();
}

void RunFolder::discard() noexcept {
  pending_.clear();
  working_.reset();
  remove_empty(made_);
  made_.clear();
  removal_.reset();
}

void RunFolder::make_folder() {
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path one = path_; !one.empty() && !fs::exists(one, error) && one != one.parent_path();
       one = one.parent_path()) {
    missing.push_back(one);
  }
  made_.assign(missing.rbegin(), missing.rend());
  fs::create_directories(path_, error);
  if (error) {
    const bool full = error == std::errc::no_space_on_device || error == std::errc::file_too_large;
    throw Error(full ? ErrorKind::kResource : ErrorKind::kIo,
                fmt::format("{}: cannot create the folder: {}", path_.string(), error.message()));
  }
  removal_ = std::make_unique<EmergencyAction>([made = made_] { remove_empty(made); });
}

void RunFolder::read_previous() {
  previous_ = read_manifest(*folder_);
  writers_.clear();
  const Json files = member_of(parsed(previous_), "files");
  for (const auto& [name, entry] : files.items()) {
    writers_[name] = entry.is_object() ? text_of(entry, "command") : "";
  }
}

void RunFolder::check_identity() const {
  if (force_ || previous_.empty()) return;
  const JsonDocument manifest = JsonDocument::parse(previous_, (path_ / kManifest).string());
  const JsonValue commands = manifest.root().find("commands");
  check_model(commands);
  const JsonValue before = commands.find(command_.name);
  if (before.is_null()) return;
  const auto other = difference(before, command_);
  if (!other) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}: holds the result of another '{}' ({}); choose another folder, or --force to replace it",
                          path_.string(), command_.name, *other));
}

// A page shows what the commands of a folder found side by side, as of one model.
void RunFolder::check_model(JsonValue commands) const {
  const auto own = command_.identity.find("model");
  if (own == command_.identity.end()) return;
  for (const auto [name, other] : commands.members()) {
    const auto model = other.find("identity").find("model").as_string();
    if (!model || *model == own->second || name == command_.name) continue;
    const auto origins = other.find("origins").find("model").items();
    std::string of;
    for (const JsonValue one : origins) of = fmt::format(", {}", printable(one.find("name").as_string().value_or("")));
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{}: holds the result of '{}' on another model{}; choose another folder, or --force to mix them",
                    path_.string(), printable(name), of));
  }
}

void RunFolder::check_name(const std::string& name) const {
  if (!is_member_name(name) || is_working_name(name) || name == kManifest) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: '{}' cannot be a file of a run", path_.string(), name));
  }
  if (force_) return;
  const auto found = writers_.find(name);
  if (found != writers_.end() && found->second != command_.name) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: was written by '{}'; choose another folder, or --force to replace it",
                            (path_ / name).string(), printable(found->second)));
  }
  if (found == writers_.end() && folder_->has(name)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: exists, but manifest.json does not list it; choose another folder, or --force to "
                            "replace it",
                            (path_ / name).string()));
  }
}

AtomicFile RunFolder::begin_file(const RunFile& file) {
  if (held_ != nullptr) {
    memory_.push_back({std::make_shared<std::vector<std::byte>>(), nullptr});
    return {path_ / file.name, memory_.back().bytes};
  }
  check_name(file.name);
  if (!added_.insert(file.name).second) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: is written twice", (path_ / file.name).string()));
  }
  return {folder_, working_->next_name(), path_ / file.name};
}

void RunFolder::add_text(const RunFile& file, std::string_view text) {
  AtomicFile out = begin_file(file);
  out.write(text);
  out.release();
  pending_.emplace_back(file, std::move(out));
}

void RunFolder::add_table(const FileSchema& file, Table table) {
  add_table(describe(file), std::move(table));
}

void RunFolder::add_table(RunFile file, Table table) {
  file.shape = {table.rows(), table.columns().size()};
  if (held_ == nullptr) return add_text(file, table.csv());
  add_text(file, "");
  memory_.back() = {nullptr, std::make_shared<const Table>(std::move(table))};
}

AtomicFile& RunFolder::add_file(const RunFile& file) {
  return pending_.emplace_back(file, begin_file(file)).second;
}

void RunFolder::add_array(const RunFile& file, std::span<const float> values) {
  add_npy(file, npy_type<float>(), "float32", values.size(), std::as_bytes(values));
}

void RunFolder::add_array(const RunFile& file, std::span<const std::int64_t> values) {
  add_npy(file, npy_type<std::int64_t>(), "int64", values.size(), std::as_bytes(values));
}

void RunFolder::add_array(const RunFile& file, std::span<const std::uint8_t> values) {
  add_npy(file, npy_type<std::uint8_t>(), "uint8", values.size(), std::as_bytes(values));
}

void RunFolder::add_npy(RunFile file, const NpyType& type, std::string_view dtype, std::size_t count,
                        std::span<const std::byte> bytes) {
  if (element_count(file.shape) != count) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {} values do not fill an array of shape {}", file.name, count, to_string(file.shape)));
  }
  AtomicFile out = begin_file(file);
  out.write(npy_header(type, file.shape));
  out.write(bytes);
  out.release();
  file.dtype = dtype;
  pending_.emplace_back(std::move(file), std::move(out));
}

void RunFolder::add_matrices(const RunFile& file,
                             std::span<const std::pair<std::string, const DoubleMatrix*>> matrices) {
  NpzWriter writer(begin_file(file));
  for (const auto& [name, matrix] : matrices) {
    writer.add(name, matrix->values(), Shape{matrix->rows(), matrix->columns()});
  }
  RunFile described = file;
  described.dtype = "float64";
  pending_.emplace_back(std::move(described), writer.finish());
}

RunArray RunFolder::add_array(const RunFile& file, RunFloat element) {
  const auto size = static_cast<std::size_t>(element);
  const std::string header = npy_header({'f', size, false}, file.shape);
  AtomicFile out = begin_file(file);
  out.write(header);
  // Writing the last element sets the final size of the file, so that a missing piece reads as zeros.
  const std::size_t elements = element_count(file.shape).value_or(0);
  if (elements > 0) out.write_at(header.size() + (elements - 1) * size, std::vector<std::byte>(size));
  out.release();
  RunFile described = file;
  described.dtype = element == RunFloat::kF32 ? "float32" : "float16";
  pending_.emplace_back(std::move(described), std::move(out));
  return {pending_.back().second, header.size(), size};
}

std::vector<std::string> RunFolder::files() const {
  std::vector<std::string> names;
  for (const auto& [file, ignored] : pending_) names.push_back(file.name);
  return names;
}

std::vector<std::string> RunFolder::stale() const {
  std::vector<std::string> names;
  for (const auto& [name, writer] : writers_) {
    const bool removable = is_member_name(name) && !is_working_name(name) && name != kManifest;
    if (writer == command_.name && removable && !added_.contains(name)) names.push_back(name);
  }
  return names;
}

std::string RunFolder::manifest() const {
  Json root = parsed(previous_);
  root["schema"] = kRunSchema;
  if (!root.contains("files")) root["files"] = Json::object();
  if (!root.contains("commands")) root["commands"] = Json::object();
  for (const std::string& name : stale()) root["files"].erase(name);
  for (const auto& [file, ignored] : pending_) {
    Json entry = {{"kind", file.kind}, {"about", file.about}, {"command", command_.name}};
    if (!file.shape.empty()) entry["shape"] = file.shape;
    if (!file.dtype.empty()) entry["dtype"] = file.dtype;
    if (!file.axes.empty()) entry["axes"] = file.axes;
    root["files"][file.name] = std::move(entry);
  }
  root["commands"][command_.name] = {{"arguments", command_.arguments},
                                     {"identity", object_of(command_.identity)},
                                     {"circumstances", object_of(command_.circumstances)}};
  for (const auto& [key, origins] : command_.origins) {
    Json& list = root["commands"][command_.name]["origins"][key];
    for (const RunOrigin& one : origins) list.push_back({{"name", one.name}, {"fingerprint", one.fingerprint}});
  }
  if (!command_.verdict.empty()) root["commands"][command_.name]["verdict"] = command_.verdict;
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void RunFolder::commit() {
  if (held_ != nullptr) {
    held_->command = command_;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      held_->files.push_back({pending_[i].first, memory_[i].bytes, memory_[i].table});
    }
    pending_.clear();
    memory_.clear();
    return;
  }
  // To flush one file takes milliseconds, whatever its size.
  constexpr std::size_t kFewFiles = 16;
  const bool few = pending_.size() <= kFewFiles;
  for (auto& [ignored, out] : pending_) out.close(/*to_disk=*/few);
  if (!few) folder_->sync_all();
  // Other commands may have changed the manifest since this one began.
  const ManifestLock lock(*folder_);
  recover(*folder_);
  read_previous();
  RunSwitch change;
  for (const auto& [file, out] : pending_) {
    check_name(file.name);
    change.put.emplace_back(out.temporary().string(), file.name);
  }
  change.remove = stale();
  const std::string name = working_->next_name();
  AtomicFile manifest_file(folder_, name, path_ / kManifest);
  manifest_file.write(manifest());
  manifest_file.flush();
  change.put.emplace_back(name, kManifest);
  // From here on the working folder has the files: it may have to leave them to the next command.
  manifest_file.keep();
  for (auto& [ignored, out] : pending_) out.keep();
  pending_.clear();
  working_->commit(change);
  added_.clear();
  made_.clear();
  removal_.reset();
  working_.reset();
}

void save_run(const InMemoryRun& held, const fs::path& path, bool force) {
  RunFolder run(path, held.command, force);
  for (const InMemoryFile& one : held.files) {
    if (one.table) {
      run.add_table(one.file, *one.table);
    } else {
      run.add_text(one.file, as_text(*one.bytes));
    }
  }
  run.commit();
}

}  // namespace headscope
