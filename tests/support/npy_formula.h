#pragma once

#include <cstddef>
#include <filesystem>

namespace headscope::test {

/// Output folder of tests/golden/make_npy.py.
[[nodiscard]] inline std::filesystem::path golden_npy_folder() {
  return std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/npy";
}

/// Element `index`, in C order, of the arrays of tests/golden/make_npy.py.
[[nodiscard]] inline double formula_value(char kind, std::size_t index) {
  const auto value = static_cast<double>(index * 37 % 101);
  switch (kind) {
    case 'f':
      return (value - 50) / 8;
    case 'i':
      return value - 50;
    case 'b':
      return static_cast<double>(index * 37 % 101 % 2);
    default:
      return value;
  }
}

}  // namespace headscope::test
