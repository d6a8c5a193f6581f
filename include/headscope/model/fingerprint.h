#pragma once

#include <string>

#include "headscope/io/checkpoint.h"

namespace headscope {

/// 16 hexadecimal digits that tell checkpoints apart: a hash of the configuration, of every
/// tensor's name, type and shape, and of up to 1 kB of its bytes, taken at even
/// distances. Where the files lie does not matter; splitting them does not either.
[[nodiscard]] std::string fingerprint(const Checkpoint& checkpoint);

}  // namespace headscope
