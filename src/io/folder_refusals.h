#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "headscope/io/hub_cache.h"

namespace headscope {

// What folders hold that are not a whole model, each as an Error that says what to do next.

/// PyTorch's pickle files: by name, since looking inside is what we refuse to do.
[[nodiscard]] bool is_pickle_name(const std::filesystem::path& path);
/// \throws Error  kUnsupported, always.
[[noreturn]] void refuse_pickle(const std::filesystem::path& path);

/// A file that the model needs is not there, or is a link that leads nowhere. `what` says so, e.g. "has no
/// config.json"; `file` is its name in the repository, or a pattern with a star. \throws Error  kIo, always; with the
/// command that downloads it, and what is left of an unfinished download.
[[noreturn]] void refuse_missing(const ModelLocation& location, const std::string& what, const std::string& file);

/// Refuses a folder that holds an adapter (LoRA, PEFT) and no whole model.
/// \throws Error  kUnsupported; names the base model and how to merge the two.
void refuse_adapter(const std::filesystem::path& folder, std::span<const std::filesystem::path> files);

/// aria2 makes a file as large as it will be and keeps FILE.aria2 beside it until the bytes are there.
/// \throws Error  kIo if there is such a file.
void refuse_unfinished(const std::filesystem::path& file);

/// A folder with neither safetensors nor GGUF.
/// \throws Error  kUnsupported if it holds pickle files, else kIo; always.
[[noreturn]] void refuse_without_weights(const ModelLocation& location, std::span<const std::filesystem::path> files);

}  // namespace headscope
