// Opens arbitrary bytes as an npz file and reads all its arrays. Only an Error may come out.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "fuzz/memory_file.h"
#include "headscope/base/error.h"
#include "headscope/io/npz.h"

namespace headscope {
namespace {

void read_array(const NpzFile& npz, const std::string& name) {
  try {
    const std::optional<NpzFile::Array> array = npz.find(name);
    if (!array) std::abort();  // it lists only what it has
    static_cast<void>(npy_values<float>(array->view(), name));
  } catch (const Error&) {
    // A broken array does not hide the others.
  }
}

}  // namespace
}  // namespace headscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const headscope::test::MemoryFile input(data, size);
  try {
    const headscope::NpzFile npz = headscope::NpzFile::open(input.path());
    for (const std::string& name : npz.names()) headscope::read_array(npz, name);
  } catch (const headscope::Error&) {
    // Refusing the input is the right answer to most of them.
  }
  return 0;
}
