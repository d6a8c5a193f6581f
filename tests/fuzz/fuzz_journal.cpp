// A folder of results with the journal of an interrupted commit: the input is the journal, as "undo" if its first byte
// is 'u'. Whatever it says, nothing outside the folder changes, and finishing a commit never removes the
// manifest.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "fuzz/scratch_folder.h"
#include "headscope/base/error.h"
#include "headscope/io/folder.h"
#include "run/working_folder.h"

namespace {

constexpr std::string_view kVictim = "not to be touched";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const headscope::test::ScratchFolder scratch;
  const std::filesystem::path run = scratch.path() / "run";
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const bool undo = input.starts_with('u');
  if (undo) input.remove_prefix(1);
  headscope::test::ScratchFolder::clear(run);
  scratch.write("outside/victim", kVictim);
  scratch.write("run/manifest.json", "{}");
  scratch.write("run/a.csv", "a");
  scratch.write("run/sub/b.csv", "b");
  std::filesystem::create_directory_symlink("../outside", run / "out");
  for (const char* name : {"0", "1", "2", "old-0", "old-1", "removed-0"}) {
    scratch.write(std::filesystem::path("run/.headscope/relate") / name, name);
  }
  scratch.write(undo ? "run/.headscope/relate/undo" : "run/.headscope/relate/journal", input);
  try {
    const headscope::Folder folder = headscope::Folder::open(run);
    headscope::recover_before_reading(folder);
    if (std::filesystem::exists(run / ".headscope")) std::abort();
  } catch (const headscope::Error& error) {
    const std::string_view message = error.what();
    if (message.size() > 20000 || message.find('\n') != std::string_view::npos) std::abort();
  }
  const auto outside = std::filesystem::directory_iterator(scratch.path() / "outside");
  if (std::distance(begin(outside), end(outside)) != 1) std::abort();
  if (text_of(scratch.path() / "outside/victim") != kVictim) std::abort();
  // Undoing the first commit of a folder removes its manifest.
  if (!undo && !std::filesystem::exists(run / "manifest.json")) std::abort();
  return 0;
}
