#pragma once

#include <string>

#include "headscope/io/checkpoint.h"
#include "headscope/model/model.h"

namespace headscope {

/// Returns 16 hexadecimal digits that identify a model: a hash of the configuration, of every tensor's name, type and
/// shape, of all bytes of the tensors that make up its heads, and of 64 bytes in each of up to 256 rows of the others.
/// Does not depend on where the files are or on how they are split into shards. Detects accidental differences, such as
/// one head that was zeroed; it is not a defense against an adversary.
///
/// Cost: reads the weights of all heads once, on all threads.
[[nodiscard]] std::string fingerprint(const Model& model);

/// The same from 1 kB of every tensor, sampled at even intervals: a cheap way to see that two processes probably opened
/// the same files.
[[nodiscard]] std::string sampled_fingerprint(const Checkpoint& checkpoint);

}  // namespace headscope
