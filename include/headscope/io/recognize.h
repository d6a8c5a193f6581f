#pragma once

#include <filesystem>
#include <string>

namespace headscope {

// What people pass in place of a model or of results. Names and the first bytes tell; nothing is loaded.

/// Returns what a file is that is no model, and what to do instead: "is a PDF document, not a model". Empty if it is
/// nothing known.
[[nodiscard]] std::string recognize_file(const std::filesystem::path& file);

/// The same for a folder without weights that could be read.
[[nodiscard]] std::string recognize_folder(const std::filesystem::path& folder);

/// Returns what a path is that was given for a folder of results but is a model: "is a model, not ...", and what to do.
/// Empty if it is none.
[[nodiscard]] std::string recognize_model(const std::filesystem::path& path);

/// Returns whether a file holds the state of a training rather than weights, by its name: optimizer.pt,
/// rng_state_0.pth.
[[nodiscard]] bool is_training_state(const std::filesystem::path& file);

}  // namespace headscope
