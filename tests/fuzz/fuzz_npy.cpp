// Reads arbitrary bytes as an npy array and converts its elements to every type
// there is. Only an Error may come out.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "headscope/base/error.h"
#include "headscope/io/npy.h"

namespace headscope {
namespace {

template <typename T>
void read_as(const NpyView& array) {
  try {
    const std::vector<T> values = npy_values<T>(array, "fuzz.npy");
    if (values.size() * array.type.size != array.bytes.size()) std::abort();
  } catch (const Error& error) {
    // What was parsed may not convert, but it does fit together.
    if (error.kind() != ErrorKind::kUnsupported) std::abort();
  }
}

}  // namespace
}  // namespace headscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const headscope::NpyView array = headscope::parse_npy(std::as_bytes(std::span(data, size)), "fuzz.npy");
    headscope::read_as<float>(array);
    headscope::read_as<double>(array);
    headscope::read_as<std::int64_t>(array);
  } catch (const headscope::Error&) {
    // Refusing the input is the right answer to most of them.
  }
  return 0;
}
