// Opens arbitrary bytes as a GGUF file, reads all its metadata and decodes the
// beginning of every tensor. Only an Error may come out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "fuzz/memory_file.h"
#include "headscope/base/error.h"
#include "headscope/base/shape.h"
#include "headscope/io/decode.h"
#include "headscope/io/gguf.h"

namespace headscope {
namespace {

// Elements decoded in one run, over all tensors: enough to reach every kernel.
constexpr std::size_t kMaxElements = 1 << 16;

void require(bool holds) {
  if (!holds) std::abort();
}

void read_value(const GgufValue& value, std::size_t& touched) {
  if (const auto number = value.as_unsigned()) require(value.as_number().has_value());
  static_cast<void>(value.as_bool());
  if (const auto text = value.as_string()) {
    for (const char c : *text) touched += static_cast<unsigned char>(c);
  }
  const auto elements = value.as_array();
  require(elements.has_value() == value.array_size().has_value());
  if (!elements) return;
  require(elements->size() == *value.array_size());
  for (const GgufValue& element : *elements) read_value(element, touched);
}

void decode_beginning(const StoredTensor& tensor, std::size_t& elements_left) {
  const auto elements = element_count(tensor.shape);
  require(elements && stored_bytes(tensor.dtype, *elements) == tensor.bytes.size());
  const DTypeInfo& type = info(tensor.dtype);
  if (!type.decodable) return;
  const std::size_t blocks = std::min(tensor.bytes.size() / type.block_bytes, elements_left / type.block_elements);
  std::vector<float> out(blocks * type.block_elements);
  decode(tensor.dtype, tensor.bytes.first(blocks * type.block_bytes), out);
  static_cast<void>(find_non_finite(out));
  elements_left -= out.size();
}

void read_everything(const GgufFile& file) {
  std::size_t touched = 0;
  for (const GgufEntry& entry : file.metadata()) {
    require(file.find(entry.key).has_value());
    read_value(entry.value, touched);
  }
  std::size_t elements_left = kMaxElements;
  for (const StoredTensor& tensor : file.tensors()) decode_beginning(tensor, elements_left);
}

}  // namespace
}  // namespace headscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const headscope::test::MemoryFile input(data, size);
  try {
    headscope::read_everything(headscope::GgufFile::open(input.path()));
  } catch (const headscope::Error&) {
    // Refusing the input is the right answer to most of them.
  }
  return 0;
}
