#pragma once

#include "headscope/io/checkpoint.h"

namespace headscope {

/// Replaces the codes, scales and tables of packed weights by the weights they stand for (`PackedWeight`). The method
/// is `quant_method` in config.json: GPTQ, AWQ, bitsandbytes, compressed-tensors or MXFP4; the weights of bitsandbytes
/// are also recognized by their names. FP8 with `weight_scale_inv` and GGUF block formats stay as they are.
///
/// Reads only headers, and the tensors of a few bytes that state a shape.
///
/// \throws Error  kUnsupported for another method or a variant that is not decoded, naming it; kUnsupported if names
/// show
///                a method that config.json does not state; kFormat if parts of a weight are missing or contradict each
///                other.
void decode_packed_weights(Checkpoint& checkpoint);

}  // namespace headscope
