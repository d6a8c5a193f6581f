#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headscope::testing_support {

/// A case of tests/golden/towers/ and one of its towers, written "towers/llava_vision"; other names have no tower.
struct TowerCase {
  std::filesystem::path folder;
  std::string tower;
};

[[nodiscard]] inline TowerCase tower_case(const std::filesystem::path& path) {
  if (path.parent_path().filename() != "towers") return {path, ""};
  const std::string name = path.filename().string();
  const std::size_t end = name.rfind('_');
  return {path.parent_path() / name.substr(0, end), name.substr(end + 1)};
}

/// The names of all cases in the folder.
[[nodiscard]] inline std::vector<std::string> tower_cases(const std::filesystem::path& towers) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(towers)) {
    for (const char* tower : {"text", "vision", "stage1", "stage2"}) {
      const std::string arrays = std::string("expected_") + tower + ".npz";
      if (!std::filesystem::exists(entry.path() / arrays)) continue;
      names.push_back("towers/" + entry.path().filename().string() + "_" + tower);
    }
  }
  return names;
}

}  // namespace headscope::testing_support
