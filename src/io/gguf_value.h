#pragma once

#include <cstdint>
#include <string_view>

#include "headscope/io/byte_reader.h"
#include "headscope/io/gguf.h"

namespace headscope {

/// Names the value in error messages: "model.gguf" and "key 'general.name'".
struct GgufContext {
  std::string_view file;
  std::string_view object;
};

/// Reads the value at the reader's position and advances the reader past it. Takes time proportional to the value's
/// size and allocates nothing.
///
/// \throws Error  kFormat if `type` is not a GGUF type, the value does not fit in the remaining bytes, a bool is
///                neither 0 nor 1, or arrays are nested too deeply.
[[nodiscard]] GgufValue take_gguf_value(ByteReader& reader, std::uint32_t type, const GgufContext& context);

}  // namespace headscope
