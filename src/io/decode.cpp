#include "headscope/io/decode.h"

#include <fmt/format.h>

#include <cstring>

#include "headscope/base/error.h"
#include "io/decode_kernels.h"

namespace headscope {
namespace {

void check_sizes(const DTypeInfo& type, std::size_t bytes, std::size_t elements) {
  if (bytes % type.block_bytes != 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("decode: {} bytes of {}, expected a multiple of {}", bytes, type.name, type.block_bytes));
  }
  const std::size_t blocks = bytes / type.block_bytes;
  if (elements % type.block_elements != 0 || elements / type.block_elements != blocks) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("decode: {} blocks of {} go into {} floats, expected {} floats per block", blocks,
                            type.name, elements, type.block_elements));
  }
}

}  // namespace

void decode(DType dtype, std::span<const std::byte> blocks, std::span<float> out) {
  const DTypeInfo& type = info(dtype);
  if (!type.decodable) {
    throw Error(ErrorKind::kUnsupported, fmt::format("decode: cannot convert {} to floats", type.name));
  }
  check_sizes(type, blocks.size(), out.size());
  if (out.empty()) return;  // memcpy requires valid pointers even for zero bytes
  if (dtype == DType::kF32) {
    std::memcpy(out.data(), blocks.data(), blocks.size());
  } else if (type.block_elements == 1) {
    decode_plain(dtype, blocks.data(), out.size(), out.data());
  } else {
    decode_quantized(dtype, blocks.data(), blocks.size() / type.block_bytes, out.data());
  }
}

}  // namespace headscope
