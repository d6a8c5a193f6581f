#pragma once

#include <cstddef>
#include <vector>

#include "headscope/base/patch_windows.h"
#include "headscope/model/forward_form.h"
#include "model/config_reader.h"

namespace headscope {

/// Returns the windows of each layer's patches; empty if the family has none. `shortest` is the shorter side of the
/// layers' grid for an image of the configured size, at which windows are cut off; 0 if it is unknown.
/// \throws Error  kFormat if the configuration lacks the size of the windows, or contradicts itself.
[[nodiscard]] std::vector<PatchWindows> patch_windows(const ConfigReader& config, PatchWindowLayers rule,
                                                      std::size_t layers, std::size_t shortest);

/// Returns the side of the windows in which a stage of Swin v2 was trained before, 0 if there were no others.
[[nodiscard]] std::size_t trained_window(const ConfigReader& config, std::size_t stage);

}  // namespace headscope
