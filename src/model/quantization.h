#pragma once

#include "headscope/io/checkpoint.h"

namespace headscope {

/// Refuses a checkpoint whose weights are packed in a way headscope does not
/// decode (GPTQ, AWQ, bitsandbytes, ...), by its config or by its tensors'
/// names. FP8 with `weight_scale_inv` and the block formats of GGUF pass.
///
/// \throws Error  kUnsupported, naming the method.
void refuse_packed_weights(const Checkpoint& checkpoint);

}  // namespace headscope
