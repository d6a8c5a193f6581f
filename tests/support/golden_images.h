#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "headscope/io/npz.h"

namespace headscope::test {

/// Output folder of tests/golden/make_images.py.
[[nodiscard]] inline std::filesystem::path golden_images_folder() {
  return std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/images";
}

struct GoldenArray {
  Shape shape;
  std::vector<float> values;
};

/// Reads an array from its expected.npz.
[[nodiscard]] inline GoldenArray golden_image_array(const NpzFile& expected, const std::string& name) {
  const auto array = expected.find(name);
  if (!array) throw std::runtime_error("expected.npz has no " + name);
  return {array->view().shape, npy_values<float>(array->view(), name)};
}

}  // namespace headscope::test
