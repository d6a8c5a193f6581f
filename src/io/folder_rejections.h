#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "headscope/io/hub_cache.h"

namespace headscope {

// Errors for folders that do not contain a complete model; each message says what to do next.

/// Detects PyTorch's pickle files by name only, since they must not be opened.
[[nodiscard]] bool is_pickle_name(const std::filesystem::path& path);
/// \throws Error  kUnsupported, always.
[[noreturn]] void reject_pickle(const std::filesystem::path& path);

/// Reports that a file of the model is missing or is a dangling link. `what` describes it, e.g. "has no config.json";
/// `file` is its name in the repository, or a pattern with a star.
/// \throws Error  kIo, always; with the command that downloads it, and traces of an unfinished download.
[[noreturn]] void reject_missing(const ModelLocation& location, const std::string& what, const std::string& file);

/// Rejects a folder that contains an adapter (LoRA, PEFT) but no complete model.
/// \throws Error  kUnsupported; names the base model and how to merge the two.
void reject_adapter(const std::filesystem::path& folder, std::span<const std::filesystem::path> files);

/// Rejects unfinished downloads by aria2, which allocates a file at full size and keeps FILE.aria2 next to it until it
/// is complete.
/// \throws Error  kIo if there is such a file.
void reject_unfinished(const std::filesystem::path& file);

/// Rejects a folder with neither safetensors nor GGUF.
/// \throws Error  kUnsupported if it contains pickle files, else kIo; always.
[[noreturn]] void reject_without_weights(const ModelLocation& location, std::span<const std::filesystem::path> files);

}  // namespace headscope
