#include "headscope/io/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/model_file.h"
#include "headscope/io/path_exists.h"
#include "headscope/io/recognize.h"
#include "io/folder_rejections.h"
#include "io/git_lfs.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexName = "model.safetensors.index.json";

struct Listing {
  std::vector<fs::path> files;     // regular files, or links to them
  std::vector<fs::path> dangling;  // dangling links
};

Listing list(const fs::path& folder) {
  Listing listing;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code of_one;  // a dangling link is not an error
    const fs::file_status status = it->status(of_one);
    if (status.type() == fs::file_type::regular) listing.files.push_back(it->path());
    if (status.type() == fs::file_type::not_found) listing.dangling.push_back(it->path());
  }
  if (error) throw Error(ErrorKind::kIo, fmt::format("{}: cannot list: {}", folder.string(), error.message()));
  std::ranges::sort(listing.files);
  std::ranges::sort(listing.dangling);
  return listing;
}

// Returns the file that contains each tensor, according to the index.
std::map<std::string, std::string> read_index(const fs::path& index_path) {
  const JsonDocument index = JsonDocument::open(index_path);
  const JsonValue weight_map = index.root().find("weight_map");
  if (!weight_map.is_object()) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: has no 'weight_map' object", index_path.string()));
  }
  std::map<std::string, std::string> file_of;
  for (const auto [tensor, value] : weight_map.members()) {
    const auto file = value.as_string();
    // A name with a separator could point anywhere in the file system.
    if (!file || file->empty() || fs::path(*file).filename() != fs::path(*file) || *file == "." || *file == "..") {
      throw Error(ErrorKind::kFormat, fmt::format("{}: the file of tensor '{}' is not a plain file name",
                                                  index_path.string(), printable(tensor)));
    }
    file_of[std::string(tensor)] = *file;
  }
  return file_of;
}

SafetensorsFile open_finished(const fs::path& file) {
  check_model_file(file);
  reject_unfinished(file);
  return SafetensorsFile::open(file);
}

std::vector<SafetensorsFile> open_shards(const ModelLocation& location) {
  const fs::path& folder = location.path;
  const auto file_of = read_index(folder / kIndexName);
  std::map<std::string, std::set<std::string_view>> expected;
  for (const auto& [tensor, file] : file_of) expected[file].insert(tensor);

  std::vector<SafetensorsFile> shards;
  for (const auto& [file, names] : expected) {
    if (!model_file_exists(folder / file)) {
      reject_missing(location,
                     fmt::format("shard '{}' is missing, but {} lists {} tensors in it", printable(file), kIndexName,
                                 names.size()),
                     file);
    }
    shards.push_back(open_finished(folder / file));
    std::set<std::string_view> missing = names;
    for (const StoredTensor& tensor : shards.back().tensors()) missing.erase(tensor.name);
    if (!missing.empty()) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: has no tensor '{}', but {} lists it", (folder / file).string(),
                                                  printable(*missing.begin()), kIndexName));
    }
  }
  return shards;
}

std::vector<fs::path> with_extension(const std::vector<fs::path>& files, std::string_view extension) {
  std::vector<fs::path> found;
  std::copy_if(files.begin(), files.end(), std::back_inserter(found),
               [&](const fs::path& file) { return file.extension() == extension; });
  return found;
}

// Opens a folder with neither model.safetensors nor an index: its only safetensors file, or the parts of one model.
std::vector<SafetensorsFile> open_unindexed(const fs::path& folder, const std::vector<fs::path>& candidates) {
  const bool parts = std::all_of(candidates.begin(), candidates.end(), [](const fs::path& file) {
    return file.filename().string().find("-of-") != std::string::npos;
  });
  if (candidates.size() > 1 && !parts) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: holds {} safetensors files ({}, {}, ...) but neither model.safetensors nor {}",
                            folder.string(), candidates.size(), printable(candidates[0].filename().string()),
                            printable(candidates[1].filename().string()), kIndexName));
  }
  std::vector<SafetensorsFile> opened;
  for (const fs::path& file : candidates) opened.push_back(open_finished(file));
  return opened;
}

// If `name` is a part of a split GGUF, returns the name of the first part, x-00001-of-00003.gguf; otherwise `name`.
std::string first_part(const std::string& name) {
  constexpr std::string_view kForm = "-NNNNN-of-NNNNN.gguf";
  if (name.size() <= kForm.size()) return name;
  const std::size_t begin = name.size() - kForm.size();
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const char c = name[begin + i];
    if (kForm[i] == 'N' ? c < '0' || c > '9' : c != kForm[i]) return name;
  }
  return name.substr(0, begin) + "-00001" + name.substr(begin + 6);
}

// Returns the GGUF file of a folder without safetensors; empty if it has none.
fs::path only_gguf(const ModelLocation& location, const Listing& listing) {
  std::vector<std::string> models;
  for (const std::vector<fs::path>& some :
       {with_extension(listing.files, ".gguf"), with_extension(listing.dangling, ".gguf")}) {
    for (const fs::path& file : some) {
      std::string name = first_part(file.filename().string());
      if (std::ranges::find(models, name) == models.end()) models.push_back(std::move(name));
    }
  }
  if (models.empty()) return {};
  if (models.size() > 1) {
    constexpr std::size_t kFew = 8;
    const std::size_t all = models.size();
    models.resize(std::min(kFew, all));
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: holds {} GGUF files; pass one of them: {}{}", location.path.string(), all,
                            printable(fmt::format("{}", fmt::join(models, ", ")), 1000), all > kFew ? ", ..." : ""));
  }
  if (!model_file_exists(location.path / models.front())) {
    reject_missing(location, fmt::format("has no {}", printable(models.front())), models.front());
  }
  return location.path / models.front();
}

// Paths of all parts of a split GGUF except the first.
std::vector<fs::path> split_gguf_paths(const ModelLocation& location, std::uint64_t count) {
  const fs::path folder = location.path.parent_path();
  const std::string name = location.path.filename().string();
  const std::string first_suffix = fmt::format("-00001-of-{:05}.gguf", count);
  if (count > 99999 || !name.ends_with(first_suffix)) {
    throw Error(
        ErrorKind::kFormat,
        fmt::format("{}: is a part of a GGUF split into {}; pass the first part, named '...-00001-of-{:05}.gguf'",
                    location.path.string(), count, std::min<std::uint64_t>(count, 99999)));
  }
  const std::string stem = name.substr(0, name.size() - first_suffix.size());
  std::vector<fs::path> paths;
  for (std::uint64_t i = 2; i <= count; ++i) {
    const std::string part = fmt::format("{}-{:05}-of-{:05}.gguf", stem, i, count);
    paths.push_back(folder / part);
    if (model_file_exists(paths.back())) continue;
    if (!location.is_cached()) {
      throw Error(ErrorKind::kIo, fmt::format("{}: part {} of {} is missing", paths.back().string(), i, count));
    }
    ModelLocation snapshot = location;
    snapshot.path = folder;
    reject_missing(snapshot, fmt::format("{}: part {} of {} is missing", printable(part), i, count), part);
  }
  return paths;
}

}  // namespace

Checkpoint Checkpoint::open(const ModelLocation& location) {
  Checkpoint checkpoint(location);
  const fs::path& path = location.path;
  if (!path_exists(path)) {
    throw Error(ErrorKind::kIo, fmt::format("{}: no such file or folder; expected a folder with config.json and "
                                            "*.safetensors, or a .gguf file",
                                            path.string()));
  }
  std::error_code error;
  if (fs::is_directory(path, error)) {
    checkpoint.open_folder();
  } else if (is_pickle_name(path)) {
    if (is_training_state(path)) {
      throw Error(ErrorKind::kUnsupported, fmt::format("{}: {}", path.string(), recognize_file(path)));
    }
    reject_pickle(path);
  } else if (path.extension() == ".gguf") {
    checkpoint.open_gguf();
  } else {
    checkpoint.open_unnamed();
  }
  checkpoint.index_tensors();
  return checkpoint;
}

Checkpoint Checkpoint::open(const fs::path& path) {
  return open(ModelLocation{.path = path});
}

Checkpoint Checkpoint::from_memory(fs::path path, std::vector<StoredTensor> tensors, std::string_view config) {
  Checkpoint checkpoint(ModelLocation{.path = std::move(path)});
  checkpoint.config_ = JsonDocument::parse(config, checkpoint.config_path().string(), JsonDialect::kPython);
  if (!checkpoint.config_->root().is_object()) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: is not a JSON object", checkpoint.config_path().string()));
  }
  for (const StoredTensor& tensor : tensors) {
    const auto elements = element_count(tensor.shape);
    const auto bytes = elements ? stored_bytes(tensor.dtype, *elements) : std::nullopt;
    if (bytes && *bytes == tensor.bytes.size()) continue;
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{}: tensor '{}' has {} bytes, which do not match {} of {}", checkpoint.path().string(),
                    printable(tensor.name), tensor.bytes.size(), info(tensor.dtype).name, to_string(tensor.shape)));
  }
  checkpoint.memory_ = std::move(tensors);
  checkpoint.index_tensors();
  return checkpoint;
}

void Checkpoint::release(const StoredTensor& tensor) const noexcept {
  // Anonymous memory that is released reads back as zeros.
  if (in_memory()) return;
  release_pages(tensor.bytes);
  if (tensor.packed == nullptr) return;
  for (const StoredTensor* part : tensor.packed->parts) release_pages(part->bytes);
}

void Checkpoint::open_folder() {
  const fs::path folder = path();
  const Listing listing = list(folder);
  const std::vector<fs::path> candidates = with_extension(listing.files, ".safetensors");
  const std::vector<fs::path> dangling = with_extension(listing.dangling, ".safetensors");
  const bool indexed = model_file_exists(folder / kIndexName);
  reject_adapter(folder, listing.files);
  const bool only_state = !candidates.empty() && std::ranges::all_of(candidates, is_training_state);
  if ((candidates.empty() || only_state) && dangling.empty() && !indexed) {
    location_.path = only_gguf(location_, listing);
    if (!location_.path.empty()) return open_gguf();
    location_.path = folder;
    reject_without_weights(location_, listing.files);
  }
  if (!model_file_exists(folder / "config.json")) {
    reject_missing(location_, "has no config.json, which names the family of the model", "config.json");
  }
  config_ = JsonDocument::open(folder / "config.json", JsonDialect::kPython);
  if (!config_->root().is_object()) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: is not a JSON object", (folder / "config.json").string()));
  }
  // Like transformers: a single file takes precedence over an index, which may be stale.
  const bool whole = std::find(candidates.begin(), candidates.end(), folder / "model.safetensors") != candidates.end();
  if (whole) {
    safetensors_.push_back(open_finished(folder / "model.safetensors"));
  } else if (indexed) {
    safetensors_ = open_shards(location_);
  } else if (!dangling.empty()) {
    const std::string name = dangling.front().filename().string();
    reject_missing(location_, fmt::format("has no {}", printable(name)), name);
  } else {
    safetensors_ = open_unindexed(folder, candidates);
  }
}

void Checkpoint::open_gguf() {
  reject_unfinished(path());
  gguf_.push_back(GgufFile::open(path()));
  const auto value = gguf_.front().find("split.count");
  const std::uint64_t count = value ? value->as_unsigned().value_or(1) : 1;
  if (count <= 1) return;
  for (const fs::path& part : split_gguf_paths(location_, count)) {
    reject_unfinished(part);
    gguf_.push_back(GgufFile::open(part));
  }
}

// Opens a file whose format is not clear from its name.
void Checkpoint::open_unnamed() {
  {
    const MappedFile file = MappedFile::open(path());
    reject_git_lfs_pointer(path(), file.bytes());
    if (!as_text(file.bytes()).starts_with("GGUF")) {
      const bool safetensors = path().extension() == ".safetensors";
      const std::string known = safetensors && !is_training_state(path()) ? "" : recognize_file(path());
      if (!known.empty()) throw Error(ErrorKind::kUnsupported, fmt::format("{}: {}", path().string(), known));
      throw Error(
          ErrorKind::kUnsupported,
          fmt::format("{}: {}; expected a folder with config.json and *.safetensors, or a .gguf file", path().string(),
                      safetensors ? "is a single safetensors file, pass its folder instead" : "is not a model"));
    }
  }
  open_gguf();
}

void Checkpoint::index_tensors() {
  const auto add = [this](std::span<const StoredTensor> tensors) {
    for (const StoredTensor& tensor : tensors) tensors_.push_back(&tensor);
  };
  for (const SafetensorsFile& file : safetensors_) add(file.tensors());
  for (const GgufFile& file : gguf_) add(file.tensors());
  add(memory_);
  sort_tensors();
}

void Checkpoint::add_packed(std::vector<StoredTensor> weights) {
  packed_ = std::move(weights);
  std::set<const StoredTensor*> parts;
  for (const StoredTensor& weight : packed_) parts.insert(weight.packed->parts.begin(), weight.packed->parts.end());
  std::erase_if(tensors_, [&](const StoredTensor* tensor) { return parts.contains(tensor); });
  for (const StoredTensor& weight : packed_) tensors_.push_back(&weight);
  sort_tensors();
}

void Checkpoint::sort_tensors() {
  const auto by_name = [](const StoredTensor* a, const StoredTensor* b) { return a->name < b->name; };
  std::sort(tensors_.begin(), tensors_.end(), by_name);
  const auto twice = std::adjacent_find(tensors_.begin(), tensors_.end(),
                                        [](const auto* a, const auto* b) { return a->name == b->name; });
  if (twice != tensors_.end()) {
    const bool packed = (*twice)->packed != nullptr || (*std::next(twice))->packed != nullptr;
    throw Error(ErrorKind::kFormat, fmt::format("{}: tensor '{}' is {}", path().string(), printable((*twice)->name),
                                                packed        ? "stored both plain and packed"
                                                : in_memory() ? "a duplicate"
                                                              : "in two files"));
  }
}

const StoredTensor* Checkpoint::find(std::string_view name) const noexcept {
  const auto found =
      std::lower_bound(tensors_.begin(), tensors_.end(), name,
                       [](const StoredTensor* tensor, std::string_view key) { return tensor->name < key; });
  return found != tensors_.end() && (*found)->name == name ? *found : nullptr;
}

std::vector<Checkpoint::WeightFile> Checkpoint::weight_files() const {
  std::vector<WeightFile> files;
  for (const SafetensorsFile& file : safetensors_) files.push_back({file.path(), file.bytes()});
  for (const GgufFile& file : gguf_) files.push_back({file.path(), file.bytes()});
  return files;
}

const fs::path& Checkpoint::file_of(const StoredTensor& tensor) const noexcept {
  if (tensor.packed != nullptr && !tensor.packed->parts.empty()) return file_of(*tensor.packed->parts.front());
  const auto holds = [&](std::span<const StoredTensor> tensors) {
    return !tensors.empty() && &tensor >= &tensors.front() && &tensor <= &tensors.back();
  };
  for (const SafetensorsFile& file : safetensors_) {
    if (holds(file.tensors())) return file.path();
  }
  for (const GgufFile& file : gguf_) {
    if (holds(file.tensors())) return file.path();
  }
  return path();
}

std::optional<GgufValue> Checkpoint::metadata(std::string_view key) const noexcept {
  return gguf_.empty() ? std::nullopt : gguf_.front().find(key);
}

fs::path Checkpoint::config_path() const {
  return is_gguf() ? path() : path() / "config.json";
}

}  // namespace headscope
