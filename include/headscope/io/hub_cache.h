#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headscope {

/// The location of a model and, if it is in the Hugging Face cache, its name there.
struct ModelLocation {
  std::filesystem::path path;        ///< A folder or a file.
  std::string repository = {};       ///< "openai-community/gpt2"; empty if the model is not from the cache.
  std::string revision = {};         ///< The requested branch, tag or commit; empty for the default, main.
  std::string commit = {};           ///< The snapshot's name; empty if the model is not from the cache.
  std::filesystem::path cache = {};  ///< The cache's folder; empty if the model is not from the cache.

  [[nodiscard]] bool is_cached() const noexcept { return !repository.empty(); }
};

/// Returns the folder where Hugging Face's tools store their downloads: $HF_HUB_CACHE, else $HUGGINGFACE_HUB_CACHE,
/// else $HF_HOME/hub, else $XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub. A variable that is set but
/// empty counts as unset; a leading ~ is $HOME. Returns an empty path if none of them is set.
[[nodiscard]] std::filesystem::path hub_cache_folder();

/// Resolves a user's name for a model. Reads the disk, never the network.
///
/// `model` is, in this order:
/// - an existing file or folder. A repository folder in a cache (.../models--OWNER--NAME) stands for the snapshot of
///   the revision. The location of a snapshot, or of a file in one, includes its repository and commit.
/// - the name of a model in `cache`: OWNER/NAME, or NAME alone, which is models--NAME if that exists and otherwise the
///   only models--OWNER--NAME.
///
/// `revision` is a branch, a tag or a commit; empty for main. The snapshot is the folder named by refs/REVISION or by
/// the commit.
///
/// Names, revisions and the contents of refs are checked before they become part of a path, so that none of them leads
/// out of the cache.
///
/// \throws Error  kIo if there is no such file, folder, model or revision; the message ends with the command that
///                downloads it. kUnsupported if several owners have a model with this name, or `model` is a whole
///                cache. kFormat if a ref does not contain a commit name. kInvalidArgument if `revision` is malformed,
///                or given for something that is not in a cache.
[[nodiscard]] ModelLocation find_model(const std::filesystem::path& model, std::string_view revision = {},
                                       const std::filesystem::path& cache = hub_cache_folder());

/// Returns the command that downloads a cached model, one file of it, or the files that match a pattern with a star:
/// "hf download gpt2 config.json --revision v1". Arguments are quoted if the shell requires it.
[[nodiscard]] std::string download_command(const ModelLocation& location, std::string_view file = {});

/// Returns "download it with: hf download ..., or " for messages that continue with another remedy; empty for a model
/// that is not cached.
[[nodiscard]] std::string download_hint(const ModelLocation& location, std::string_view file);

}  // namespace headscope
