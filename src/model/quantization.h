#pragma once

#include "headscope/io/checkpoint.h"

namespace headscope {

/// Rejects a checkpoint whose weights are packed in a way headscope does not decode (GPTQ, AWQ, bitsandbytes, ...),
/// judging by its config or its tensor names. FP8 with `weight_scale_inv` and GGUF block formats are accepted.
///
/// \throws Error  kUnsupported, naming the method.
void reject_packed_weights(const Checkpoint& checkpoint);

}  // namespace headscope
