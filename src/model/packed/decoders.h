#pragma once

#include <string>
#include <vector>

#include "headscope/io/checkpoint.h"

namespace headscope {

// Each function finds the weights of one library in a checkpoint and says how each is decoded. A weight is named
// MODULE.weight and has the shape [out, in] of the layer it replaces. Reads only headers, and the tensors of a few
// bytes that state a shape. `settings` is `quantization_config` of config.json, null if there is none.
//
// All throw Error: kFormat if a part is missing or has a wrong shape, kUnsupported for a variant that is not decoded.

/// GPTQ, 4 and 8 bits: w = scale * (q - zero). qweight int32 [in / n, out] holds n = 32 / bits consecutive inputs, the
/// first in the low bits; qzeros int32 [groups, out / n] and scales [groups, out]. g_idx, if present, gives the group
/// of every input, else groups are consecutive. The files of format "gptq" hold zero - 1, those of "gptq_v2" zero.
[[nodiscard]] std::vector<StoredTensor> gptq_weights(const Checkpoint& checkpoint, JsonValue settings);

/// AWQ, 4 bits, packing "gemm": w = scale * (q - zero). qweight int32 [in, out / 8], qzeros int32 [groups, out / 8],
/// scales [groups, out]. The eight outputs of an int32 are, from the low bits up, 0, 2, 4, 6, 1, 3, 5, 7.
[[nodiscard]] std::vector<StoredTensor> awq_weights(const Checkpoint& checkpoint, JsonValue settings);

/// bitsandbytes. 4 bits (NF4, FP4): w = table[code] * absmax of its block, two codes per byte, the first in the high
/// bits. absmax may be coded itself: table[code] * absmax of 256 + offset. 8 bits: w = q * SCB / 127 per row.
[[nodiscard]] std::vector<StoredTensor> bitsandbytes_weights(const Checkpoint& checkpoint, JsonValue settings);

/// compressed-tensors, formats pack-quantized (4 and 8 bits), int-quantized and float-quantized (FP8):
/// w = scale * (q - zero), with scales per tensor, row, group of columns or block.
[[nodiscard]] std::vector<StoredTensor> compressed_tensors_weights(const Checkpoint& checkpoint, JsonValue settings);

/// MXFP4 as gpt-oss stores it: NAME_blocks uint8 [.., n / 32, 16], two codes per byte, the first in the low bits, and
/// NAME_scales uint8 [.., n / 32], exponents of 2 plus 127. The weight is called NAME and has n columns.
[[nodiscard]] std::vector<StoredTensor> mxfp4_weights(const Checkpoint& checkpoint, JsonValue settings);

/// Latent attention in newer GGUF files: `attn_k_b` [heads, latent, width] and `attn_v_b` [heads, width, latent], which
/// llama.cpp multiplies queries and outputs by. Together they are `attn_kv_b` of older files, [heads * (K | V),
/// latent].
[[nodiscard]] std::vector<StoredTensor> gguf_latent_weights(const Checkpoint& checkpoint);

}  // namespace headscope
