#pragma once

#include <string>

#include "headscope/io/checkpoint.h"

namespace headscope {

/// Returns 16 hexadecimal digits that identify a checkpoint: a hash of the configuration, of every tensor's name, type
/// and shape, and of up to 1 kB of its bytes, sampled at even intervals. Does not depend on where the files are or on
/// how they are split into shards.
[[nodiscard]] std::string fingerprint(const Checkpoint& checkpoint);

}  // namespace headscope
