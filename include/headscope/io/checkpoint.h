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

/// The tensors and the configuration of a model on disk in any supported format: a folder with config.json and one or
/// more safetensors files, a GGUF file (or the first part of a split one), or a folder with one GGUF file and no
/// safetensors. Opening reads only headers.
class Checkpoint {
 public:
  /// \throws Error  kIo if something is missing or unreadable, or replaced by a git-lfs pointer or an unfinished
  ///                download; kFormat if a file is malformed, or the index and the shards disagree; kUnsupported for
  ///                adapters, for a folder with several GGUF files, for a single file that is not GGUF, and for pickle
  ///                files, which are never opened: loading one runs whatever code it contains.
  [[nodiscard]] static Checkpoint open(const std::filesystem::path& path);
  /// The same for a model found by `find_model`: if a cached model is incomplete, the message contains the command that
  /// downloads the missing part.
  [[nodiscard]] static Checkpoint open(const ModelLocation& location);

  /// Wraps tensors in memory, with the text of their config.json: a model that is running, not saved. Nothing is
  /// copied: the bytes, little-endian and in C order, must outlive this object. `path` is used in messages and to look
  /// for the tokenizer's files; it need not exist.
  /// \throws Error  kInvalidArgument if a tensor's bytes do not match its type and shape; kFormat if two tensors have
  ///                the same name, or the configuration is not a JSON object.
  [[nodiscard]] static Checkpoint from_memory(std::filesystem::path path, std::vector<StoredTensor> tensors,
                                              std::string_view config);

  /// The folder or GGUF file that was opened.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return location_.path; }
  /// The same, with what is known about its origin.
  [[nodiscard]] const ModelLocation& location() const noexcept { return location_; }
  [[nodiscard]] bool is_gguf() const noexcept { return !gguf_.empty(); }
  /// Returns whether the tensors are in the caller's memory rather than in files.
  [[nodiscard]] bool in_memory() const noexcept { return !memory_.empty(); }
  /// Hints that the tensor is not needed for now: if it is in a file, its pages no longer count as memory of this
  /// process.
  void release(const StoredTensor& tensor) const noexcept;
  /// The files that contain the tensors; the bytes of every tensor lie in one of them. Empty for a model in memory.
  struct WeightFile {
    std::filesystem::path path;
    std::span<const std::byte> bytes;
  };
  [[nodiscard]] std::vector<WeightFile> weight_files() const;
  /// Number of files that contain the tensors.
  [[nodiscard]] std::size_t file_count() const noexcept { return safetensors_.size() + gguf_.size(); }

  /// Replaces the parts of packed weights by the weights: afterwards `tensors` and `find` give these and not the parts,
  /// even if a part has the weight's name. The parts must be tensors of this checkpoint.
  /// \throws Error  kFormat if a weight has the name of another tensor.
  void add_packed(std::vector<StoredTensor> weights);

  /// All tensors, sorted by name.
  [[nodiscard]] std::span<const StoredTensor* const> tensors() const noexcept { return tensors_; }
  /// Returns the tensor with this name, or nullptr if there is none.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const noexcept;

  /// Returns the file that contains a tensor of this checkpoint.
  [[nodiscard]] const std::filesystem::path& file_of(const StoredTensor& tensor) const noexcept;

  /// The root of config.json; null for GGUF.
  [[nodiscard]] JsonValue config() const noexcept { return config_ ? config_->root() : JsonValue(); }
  /// Returns a metadata value of a GGUF file; nothing for safetensors.
  [[nodiscard]] std::optional<GgufValue> metadata(std::string_view key) const noexcept;

  /// Path of config.json or of the GGUF file, for messages about its contents.
  [[nodiscard]] std::filesystem::path config_path() const;

 private:
  explicit Checkpoint(ModelLocation location) : location_(std::move(location)) {}
  void open_folder();
  void open_gguf();
  void open_unnamed();
  void index_tensors();
  void sort_tensors();

  ModelLocation location_;
  std::optional<JsonDocument> config_;
  std::vector<SafetensorsFile> safetensors_;
  std::vector<GgufFile> gguf_;
  std::vector<StoredTensor> memory_;
  std::vector<StoredTensor> packed_;
  std::vector<const StoredTensor*> tensors_;
};

}  // namespace headscope
