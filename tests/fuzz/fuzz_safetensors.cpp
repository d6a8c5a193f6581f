#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuzz/memory_file.h"
#include "headscope/base/error.h"
#include "headscope/io/decode.h"
#include "headscope/io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const headscope::test::MemoryFile file(data, size);
    const auto opened = headscope::SafetensorsFile::open(file.path());
    for (const headscope::StoredTensor& tensor : opened.tensors()) {
      const headscope::DTypeInfo& block = info(tensor.dtype);
      if (!block.decodable) continue;
      std::vector<float> values(tensor.bytes.size() / block.block_bytes * block.block_elements);
      headscope::decode(tensor.dtype, tensor.bytes, values);
      static_cast<void>(headscope::find_non_finite(values));
    }
  } catch (const headscope::Error&) {
    // Refusing is right; anything else is a finding.
  }
  return 0;
}
