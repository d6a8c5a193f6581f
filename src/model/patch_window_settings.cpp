#include "model/patch_window_settings.h"

#include <fmt/format.h>

#include <algorithm>

namespace headscope {
namespace {

// Larger windows are nonsense, and (2 side - 1)^2 of them still fit.
constexpr std::size_t kMaxSide = 4096;

std::size_t side_of(const ConfigReader& config, std::size_t pixels) {
  const std::size_t size = config.size({"window_size"}).value_or(0);
  if (size < pixels || size / pixels > kMaxSide) {
    config.malformed(fmt::format("'window_size' is {}, expected {} to {}", size, pixels, kMaxSide * pixels));
  }
  return size / pixels;
}

std::vector<bool> listed(const ConfigReader& config, std::string_view key, std::size_t layers) {
  std::vector<bool> result(layers);
  for (const JsonValue item : config.scope().find(key).items()) {
    const auto layer = item.as_unsigned();
    if (!layer) config.malformed(fmt::format("'{}' are not numbers of layers", key));
    if (*layer < layers) result[*layer] = true;
  }
  return result;
}

}  // namespace

std::vector<PatchWindows> patch_windows(const ConfigReader& config, PatchWindowLayers rule, std::size_t layers,
                                        std::size_t shortest) {
  std::vector<PatchWindows> windows;
  if (rule == PatchWindowLayers::kShifted) {
    const std::size_t stated = side_of(config, 1);
    const std::size_t side = shortest > 0 ? std::min(stated, shortest) : stated;
    for (std::size_t i = 0; i < layers; ++i) windows.push_back({side, i % 2 == 0 ? 0 : side / 2});
  }
  if (rule == PatchWindowLayers::kNotListed) {
    // Windows hold whole squares of the patches that are merged after the last layer.
    const std::size_t merged = std::max<std::size_t>(config.size({"spatial_merge_size"}).value_or(2), 1);
    const std::size_t patch = std::max<std::size_t>(config.size({"patch_size"}).value_or(14), 1);
    if (merged > kMaxSide || patch > kMaxSide) config.malformed("'spatial_merge_size' or 'patch_size' is too large");
    const PatchWindows own{side_of(config, merged * patch) * merged, 0};
    const std::vector<bool> full = listed(config, "fullatt_block_indexes", layers);
    for (std::size_t i = 0; i < layers; ++i) windows.push_back(full[i] ? PatchWindows{} : own);
  }
  return windows;
}

std::size_t trained_window(const ConfigReader& config, std::size_t stage) {
  std::size_t index = 0;
  for (const JsonValue item : config.scope().find("pretrained_window_sizes").items()) {
    if (index++ == stage) return std::min(static_cast<std::size_t>(item.as_unsigned().value_or(0)), kMaxSide);
  }
  return 0;
}

}  // namespace headscope
