#pragma once

#include <cstdint>
#include <string_view>

#include "headscope/io/byte_reader.h"
#include "headscope/io/gguf.h"

namespace headscope {

/// What an error about a value is about: "model.gguf" and "key 'general.name'".
struct GgufContext {
  std::string_view file;
  std::string_view object;
};

/// The value that begins where `reader` stands, which is left behind it. Takes
/// time in proportion to the value's bytes and allocates nothing.
///
/// \throws Error  kFormat if `type` is no GGUF type, the value does not fit
///                what is left, a bool is neither 0 nor 1 or arrays nest too deeply.
[[nodiscard]] GgufValue take_gguf_value(ByteReader& reader, std::uint32_t type, const GgufContext& context);

}  // namespace headscope
