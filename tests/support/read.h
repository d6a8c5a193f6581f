#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace headscope::test {

/// The bytes of a file; empty if there is none.
inline std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace headscope::test
