#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "headscope/app/command.h"
#include "headscope/io/byte_reader.h"
#include "headscope/run/run_folder.h"

namespace headscope::test {

/// Contents of files by name, as they are on disk.
using RunBytes = std::map<std::string, std::string>;

inline RunBytes bytes_of(const InMemoryRun& run) {
  RunBytes bytes;
  for (const InMemoryFile& one : run.files) {
    bytes[one.file.name] = one.table ? one.table->csv() : std::string(as_text(*one.bytes));
  }
  return bytes;
}

/// All files of a folder but the manifest.
inline RunBytes bytes_of(const std::filesystem::path& folder) {
  RunBytes bytes;
  if (!std::filesystem::exists(folder)) return bytes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = std::filesystem::relative(entry.path(), folder).string();
    if (!entry.is_regular_file() || name == run_files::kManifest) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    bytes[name] = text.str();
  }
  return bytes;
}

/// The files of a command, wherever they are.
inline RunBytes bytes_of(const RunFiles& files) {
  return files.memory ? bytes_of(*files.memory) : bytes_of(files.folder);
}

}  // namespace headscope::test
