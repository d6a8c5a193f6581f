#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/forward/forward.h"
#include "headscope/io/appended_tensors.h"
#include "headscope/io/atomic_file.h"
#include "headscope/io/zeroed_copy.h"
#include "headscope/model/model.h"

namespace headscope {

/// Where a tensor's bytes are.
struct FilePlace {
  std::size_t file = 0;    ///< Index into the model's weight files.
  std::size_t offset = 0;  ///< From the beginning of that file.
};
[[nodiscard]] FilePlace locate(std::span<const Checkpoint::WeightFile> files, const StoredTensor& tensor);

/// The changes to a model's files that make the biases of the output projections carry what replaces removed heads; see
/// `add_pruned_checkpoint`. The model must outlive this object.
class BiasEdits {
 public:
  /// \throws Error  kUnsupported if a replacement is not zero and the files cannot hold it.
  BiasEdits(const Model& model, std::span<const HeadReplacement> heads);

  /// Whether all replacements are zeros, so that no bias changes.
  [[nodiscard]] bool empty() const noexcept { return changed_.empty() && added_.empty(); }
  /// Bytes by which the files grow, not counting headers.
  [[nodiscard]] std::size_t added_bytes() const noexcept;

  /// Writes a copy of a weight file with zeros in the given ranges and with the biases.
  void write(std::size_t file, std::span<const ByteRange> zeros, AtomicFile& out, const Context& context) const;
  /// Returns the new text of config.json or of an index; empty if the file does not change.
  /// \throws Error  kFormat if it is not a JSON object.
  [[nodiscard]] std::string edited_text(const std::string& name, std::string_view text) const;

 private:
  void change_stored(const std::vector<std::vector<float>>& biases);
  void add_missing(const std::vector<std::vector<float>>& biases);

  const Model& model_;
  std::vector<Checkpoint::WeightFile> files_;
  std::vector<std::pair<FilePlace, std::vector<std::byte>>> changed_;  // new bytes of biases that exist
  std::map<std::size_t, std::vector<AppendedTensor>> added_;           // by file
  std::string key_;                                                    // of config.json; empty for GGUF
};

}  // namespace headscope
