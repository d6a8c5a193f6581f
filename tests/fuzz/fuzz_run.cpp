// A folder of results: the input is manifest.json up to the first NUL byte, then edges.csv, then tree.json. Everything
// that the manifest lists is read as a table, as JSON and as an array, and the command that it names is written again.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/scratch_folder.h"
#include "headscope/base/error.h"
#include "headscope/run/run_contents.h"
#include "headscope/run/run_folder.h"

namespace headscope {
namespace {

template <typename Action>
void attempt(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    // Refusing is right, in one line of bearable length.
    const std::string_view message = error.what();
    if (message.size() > 20000 || message.find('\n') != std::string_view::npos) std::abort();
  }
}

void read_all(const RunContents& run) {
  constexpr std::size_t kFiles = 16;  // a manifest may list thousands
  for (std::size_t i = 0; i < std::min(run.names().size(), kFiles); ++i) {
    const std::string& name = run.names()[i];
    attempt([&] { static_cast<void>(run.table(name)); });
    attempt([&] { static_cast<void>(run.json(name)); });
    attempt([&] { static_cast<void>(run.array(name, 2)); });
  }
}

}  // namespace
}  // namespace headscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headscope;
  static const test::ScratchFolder scratch;
  const std::string_view victim = "not to be touched";
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto take = [&] {
    const std::string_view part = input.substr(0, input.find('\0'));
    input.remove_prefix(std::min(part.size() + 1, input.size()));
    return part;
  };
  test::ScratchFolder::clear(scratch.path() / "run");
  scratch.write("victim", victim);
  scratch.write("run/manifest.json", take());
  scratch.write("run/edges.csv", take());
  scratch.write("run/tree.json", take());
  attempt([&] {
    const RunContents run(scratch.path() / "run");
    read_all(run);
  });
  // Replaces the result of the command: what the manifest lists for it is removed.
  attempt([&] {
    RunFolder out(scratch.path() / "run", {"relate", {}, {}, {}}, /*force=*/true);
    out.add_text({.name = "heads.csv", .kind = "table", .about = "heads"}, "head\nL0H0\n");
    out.commit();
    if (std::filesystem::exists(scratch.path() / "run/.headscope")) std::abort();
    if (!std::filesystem::exists(scratch.path() / "run/heads.csv")) std::abort();
  });
  if (std::filesystem::file_size(scratch.path() / "victim") != victim.size()) std::abort();
  return 0;
}
