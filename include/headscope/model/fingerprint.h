#pragma once

#include <string>

#include "headscope/io/checkpoint.h"
#include "headscope/model/model.h"

namespace headscope {

/// Returns 16 hexadecimal digits that identify a model: a hash of the configuration, of every tensor's name, type and
/// shape, and of
///
/// - the tensors that make up its heads: all bytes if together they have at most 1 GiB, as in models of up to 3 billion
///   parameters; else 1 kB in each of up to 1024 rows of each tensor, at columns that change from row to row, so that
///   several samples fall on every head;
/// - the other tensors: 64 bytes in each of up to 256 rows, fewer where there are more than 512 tensors (2^17 in
///   all), but at least 2 per tensor.
///
/// Does not depend on where the files are or on how they are split into shards. Detects accidental differences: another
/// checkpoint, a head that was zeroed, a matrix that was edited, and up to 1 GiB every number of a head. It is not a
/// defense against an adversary.
///
/// Cost: reads up to 1 GiB of weights on all threads; of larger models, about a page per sample.
[[nodiscard]] std::string fingerprint(const Model& model);

/// A hash of the same kind, of 1 kB of every tensor, or less where there are more than 512 tensors: a cheap way to see
/// that two processes probably opened the same files.
[[nodiscard]] std::string sampled_fingerprint(const Checkpoint& checkpoint);

}  // namespace headscope
