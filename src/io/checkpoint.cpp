#include "headscope/io/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexName = "model.safetensors.index.json";

// PyTorch's pickle files: by name, since looking inside is what we refuse to do.
bool is_pickle_name(const fs::path& path) {
  constexpr std::array<std::string_view, 6> kExtensions = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"};
  const std::string extension = path.extension().string();
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

[[noreturn]] void refuse_pickle(const fs::path& path) {
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: pickle files are never opened, since loading one runs whatever code it contains; "
                          "convert it where you trust it: model = AutoModel.from_pretrained(FOLDER); "
                          "model.save_pretrained(NEW_FOLDER, safe_serialization=True)",
                          path.string()));
}

// False if there is no such file; whatever else keeps it from being looked at is an error.
bool is_there(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return false;
  if (error) throw Error(ErrorKind::kIo, fmt::format("{}: cannot look at it: {}", path.string(), error.message()));
  return true;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) files.push_back(it->path());
  }
  if (error) throw Error(ErrorKind::kIo, fmt::format("{}: cannot list: {}", folder.string(), error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

// Which file of the folder holds each tensor, as the index says.
std::map<std::string, std::string> read_index(const fs::path& index_path) {
  const JsonDocument index = JsonDocument::open(index_path);
  const JsonValue weight_map = index.root().find("weight_map");
  if (!weight_map.is_object()) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: has no 'weight_map' object", index_path.string()));
  }
  std::map<std::string, std::string> file_of;
  for (const auto [tensor, value] : weight_map.members()) {
    const auto file = value.as_string();
    // A name with a separator could point anywhere on this machine.
    if (!file || file->empty() || fs::path(*file).filename() != fs::path(*file) || *file == "." || *file == "..") {
      throw Error(ErrorKind::kFormat, fmt::format("{}: the file of tensor '{}' is not a plain file name",
                                                  index_path.string(), printable(tensor)));
    }
    file_of[std::string(tensor)] = *file;
  }
  return file_of;
}

std::vector<SafetensorsFile> open_shards(const fs::path& folder) {
  const fs::path index_path = folder / kIndexName;
  const auto file_of = read_index(index_path);
  std::map<std::string, std::set<std::string_view>> expected;
  for (const auto& [tensor, file] : file_of) expected[file].insert(tensor);

  std::vector<SafetensorsFile> shards;
  for (const auto& [file, names] : expected) {
    if (!is_there(folder / file)) {
      throw Error(ErrorKind::kIo, fmt::format("{}: shard '{}' is missing, {} names {} tensors in it", folder.string(),
                                              printable(file), kIndexName, names.size()));
    }
    shards.push_back(SafetensorsFile::open(folder / file));
    std::set<std::string_view> missing = names;
    for (const StoredTensor& tensor : shards.back().tensors()) missing.erase(tensor.name);
    if (!missing.empty()) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: has no tensor '{}', but {} says it does",
                                                  (folder / file).string(), printable(*missing.begin()), kIndexName));
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

// A folder without safetensors: says what it holds instead.
[[noreturn]] void refuse_without_safetensors(const fs::path& folder, const std::vector<fs::path>& files) {
  if (const auto gguf = with_extension(files, ".gguf"); !gguf.empty()) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: holds no safetensors file, but {}: pass that file",
                                                     folder.string(), printable(gguf[0].filename().string())));
  }
  const auto pickle = std::find_if(files.begin(), files.end(), is_pickle_name);
  if (pickle != files.end()) refuse_pickle(*pickle);
  throw Error(ErrorKind::kIo, fmt::format("{}: holds no safetensors file; expected a folder as Hugging Face's "
                                          "save_pretrained writes it, or a .gguf file",
                                          folder.string()));
}

// A folder without model.safetensors and index: its one safetensors file, or the parts of one model.
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
  for (const fs::path& file : candidates) opened.push_back(SafetensorsFile::open(file));
  return opened;
}

// The files of a split GGUF, from the name of its first: x-00001-of-00003.gguf.
std::vector<fs::path> split_gguf_paths(const GgufFile& first, std::uint64_t count) {
  const std::string name = first.path().filename().string();
  const std::string first_suffix = fmt::format("-00001-of-{:05}.gguf", count);
  if (count > 99999 || !name.ends_with(first_suffix)) {
    throw Error(
        ErrorKind::kFormat,
        fmt::format("{}: is a part of a GGUF split into {}; pass the first part, named '...-00001-of-{:05}.gguf'",
                    first.path().string(), count, std::min<std::uint64_t>(count, 99999)));
  }
  const std::string stem = name.substr(0, name.size() - first_suffix.size());
  std::vector<fs::path> paths;
  for (std::uint64_t i = 2; i <= count; ++i) {
    paths.push_back(first.path().parent_path() / fmt::format("{}-{:05}-of-{:05}.gguf", stem, i, count));
    if (!is_there(paths.back())) {
      throw Error(ErrorKind::kIo, fmt::format("{}: part {} of {} is missing", paths.back().string(), i, count));
    }
  }
  return paths;
}

bool begins_with_gguf_magic(const fs::path& path) {
  const MappedFile file = MappedFile::open(path);
  return as_text(file.bytes()).starts_with("GGUF");
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& path) {
  Checkpoint checkpoint(path);
  if (!is_there(path)) {
    throw Error(ErrorKind::kIo, fmt::format("{}: no such file or folder; expected a folder with config.json and "
                                            "*.safetensors, or a .gguf file",
                                            path.string()));
  }
  std::error_code error;
  if (fs::is_directory(path, error)) {
    checkpoint.open_folder();
  } else if (is_pickle_name(path)) {
    refuse_pickle(path);
  } else if (path.extension() == ".gguf" || begins_with_gguf_magic(path)) {
    checkpoint.open_gguf();
  } else {
    const bool safetensors = path.extension() == ".safetensors";
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("{}: {}; expected a folder with config.json and *.safetensors, or a .gguf file", path.string(),
                    safetensors ? "is one safetensors file, pass the folder that holds it" : "is not a model"));
  }
  checkpoint.index_tensors();
  return checkpoint;
}

Checkpoint Checkpoint::from_memory(fs::path path, std::vector<StoredTensor> tensors, std::string_view config) {
  Checkpoint checkpoint(std::move(path));
  checkpoint.config_ = JsonDocument::parse(config, checkpoint.config_path().string());
  if (!checkpoint.config_->root().is_object()) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: is not a JSON object", checkpoint.config_path().string()));
  }
  for (const StoredTensor& tensor : tensors) {
    const auto elements = element_count(tensor.shape);
    const auto bytes = elements ? stored_bytes(tensor.dtype, *elements) : std::nullopt;
    if (bytes && *bytes == tensor.bytes.size()) continue;
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{}: tensor '{}' has {} bytes, which do not fit {} of {}", checkpoint.path_.string(),
                    printable(tensor.name), tensor.bytes.size(), info(tensor.dtype).name, to_string(tensor.shape)));
  }
  checkpoint.memory_ = std::move(tensors);
  checkpoint.index_tensors();
  return checkpoint;
}

void Checkpoint::release(const StoredTensor& tensor) const noexcept {
  // Anonymous memory given back to the system comes back as zeros.
  if (!in_memory()) release_pages(tensor.bytes);
}

void Checkpoint::open_folder() {
  const std::vector<fs::path> files = files_in(path_);
  const std::vector<fs::path> candidates = with_extension(files, ".safetensors");
  const bool indexed = is_there(path_ / kIndexName);
  if (candidates.empty() && !indexed) refuse_without_safetensors(path_, files);
  if (!is_there(path_ / "config.json")) {
    throw Error(ErrorKind::kIo, fmt::format("{}: has no config.json, which says what family the model is of; "
                                            "expected a folder as Hugging Face's save_pretrained writes it",
                                            path_.string()));
  }
  config_ = JsonDocument::open(path_ / "config.json");
  if (!config_->root().is_object()) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: is not a JSON object", (path_ / "config.json").string()));
  }
  // As transformers does: a whole file goes before an index, which may be stale.
  const bool whole = std::find(candidates.begin(), candidates.end(), path_ / "model.safetensors") != candidates.end();
  if (whole) {
    safetensors_.push_back(SafetensorsFile::open(path_ / "model.safetensors"));
  } else {
    safetensors_ = indexed ? open_shards(path_) : open_unindexed(path_, candidates);
  }
}

void Checkpoint::open_gguf() {
  gguf_.push_back(GgufFile::open(path_));
  const auto value = gguf_.front().find("split.count");
  const std::uint64_t count = value ? value->as_unsigned().value_or(1) : 1;
  if (count <= 1) return;
  for (const fs::path& part : split_gguf_paths(gguf_.front(), count)) gguf_.push_back(GgufFile::open(part));
}

void Checkpoint::index_tensors() {
  const auto add = [this](std::span<const StoredTensor> tensors) {
    for (const StoredTensor& tensor : tensors) tensors_.push_back(&tensor);
  };
  for (const SafetensorsFile& file : safetensors_) add(file.tensors());
  for (const GgufFile& file : gguf_) add(file.tensors());
  add(memory_);
  const auto by_name = [](const StoredTensor* a, const StoredTensor* b) { return a->name < b->name; };
  std::sort(tensors_.begin(), tensors_.end(), by_name);
  const auto twice = std::adjacent_find(tensors_.begin(), tensors_.end(),
                                        [](const auto* a, const auto* b) { return a->name == b->name; });
  if (twice != tensors_.end()) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: tensor '{}' is {}", path_.string(), printable((*twice)->name),
                                                in_memory() ? "there twice" : "in two files"));
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
  const auto holds = [&](std::span<const StoredTensor> tensors) {
    return !tensors.empty() && &tensor >= &tensors.front() && &tensor <= &tensors.back();
  };
  for (const SafetensorsFile& file : safetensors_) {
    if (holds(file.tensors())) return file.path();
  }
  for (const GgufFile& file : gguf_) {
    if (holds(file.tensors())) return file.path();
  }
  return path_;
}

std::optional<GgufValue> Checkpoint::metadata(std::string_view key) const noexcept {
  return gguf_.empty() ? std::nullopt : gguf_.front().find(key);
}

fs::path Checkpoint::config_path() const {
  return is_gguf() ? path_ : path_ / "config.json";
}

}  // namespace headscope
