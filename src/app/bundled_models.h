#pragma once

#include <filesystem>

namespace headscope::app {

/// The folder of the models that come with headscope: what HEADSCOPE_MODELS says, else beside the program, as the
/// source tree (../models) and an installation (../share/headscope/models) have it. \throws Error  kIo if none of them
/// holds a model, naming where it looked.
[[nodiscard]] std::filesystem::path bundled_models();

}  // namespace headscope::app
