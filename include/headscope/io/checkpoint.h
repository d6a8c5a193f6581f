#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/io/gguf.h"
#include "headscope/io/hub_cache.h"
#include "headscope/io/json.h"
#include "headscope/io/safetensors.h"
#include "headscope/io/stored_tensor.h"

namespace headscope {

/// The tensors and the configuration of a model on disk, whatever its format:
/// a folder with config.json and one or several safetensors files, a GGUF
/// file (or the first of a split one), or a folder with one GGUF file and no safetensors. Opening reads headers only.
class Checkpoint {
 public:
  /// \throws Error  kIo if something is missing or unreadable, also if a git-lfs pointer or an unfinished download is
  ///                in its place; kFormat if a file is malformed, or the index and the shards disagree;
  ///                kUnsupported for adapters, for a folder with several GGUF files, and for pickle files, which are
  ///                never opened: loading one runs whatever code it contains.
  [[nodiscard]] static Checkpoint open(const std::filesystem::path& path);
  /// The same for a model that `find_model` found: what a cached model lacks comes with the command that downloads it.
  [[nodiscard]] static Checkpoint open(const ModelLocation& location);

  /// Tensors that lie in memory, with the text of their config.json: a model that is running, not saved. Nothing is
  /// copied: the bytes must stay where they are as long as this lives, little-endian and in C order. `path` is what
  /// messages call the model and where its tokenizer's files are looked for; it need not exist.
  /// \throws Error  kInvalidArgument if a tensor's bytes do not fit its type and shape;
  ///                kFormat if two have the same name, or the configuration is not a JSON object.
  [[nodiscard]] static Checkpoint from_memory(std::filesystem::path path, std::vector<StoredTensor> tensors,
                                              std::string_view config);

  /// What was opened: the folder, or the GGUF file.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return location_.path; }
  /// The same, with what is known of its origin.
  [[nodiscard]] const ModelLocation& location() const noexcept { return location_; }
  [[nodiscard]] bool is_gguf() const noexcept { return !gguf_.empty(); }
  /// Whether the tensors are somebody's memory and not files.
  [[nodiscard]] bool in_memory() const noexcept { return !memory_.empty(); }
  /// The tensor is not needed at the moment: if it lies in a file, its pages stop counting as this process's memory.
  void release(const StoredTensor& tensor) const noexcept;
  /// The files that hold the tensors; every tensor's bytes lie in those of one of them. None for a model in memory.
  struct WeightFile {
    std::filesystem::path path;
    std::span<const std::byte> bytes;
  };
  [[nodiscard]] std::vector<WeightFile> weight_files() const;
  /// How many files hold the tensors.
  [[nodiscard]] std::size_t file_count() const noexcept { return safetensors_.size() + gguf_.size(); }

  /// All tensors, sorted by name.
  [[nodiscard]] std::span<const StoredTensor* const> tensors() const noexcept { return tensors_; }
  /// The tensor of that name, nullptr if there is none.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const noexcept;

  /// The file a tensor of this checkpoint lies in.
  [[nodiscard]] const std::filesystem::path& file_of(const StoredTensor& tensor) const noexcept;

  /// The root of config.json; null for GGUF.
  [[nodiscard]] JsonValue config() const noexcept { return config_ ? config_->root() : JsonValue(); }
  /// A metadata value of a GGUF file; nothing for safetensors.
  [[nodiscard]] std::optional<GgufValue> metadata(std::string_view key) const noexcept;

  /// "config.json" or the GGUF file's name, for messages about what is written there.
  [[nodiscard]] std::filesystem::path config_path() const;

 private:
  explicit Checkpoint(ModelLocation location) : location_(std::move(location)) {}
  void open_folder();
  void open_gguf();
  void open_unnamed();
  void index_tensors();

  ModelLocation location_;
  std::optional<JsonDocument> config_;
  std::vector<SafetensorsFile> safetensors_;
  std::vector<GgufFile> gguf_;
  std::vector<StoredTensor> memory_;
  std::vector<const StoredTensor*> tensors_;
};

}  // namespace headscope
