#pragma once

#include <cstdint>
#include <span>

#include "headscope/base/matrix.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// Computes the inputs that each layer gets of each token (`NetworkInput::token_inputs`): one row per token, layers one
/// after another. `embedded` are the tokens' embeddings.
/// \throws Error  kFormat if an id has no row in the table.
[[nodiscard]] Matrix token_inputs(const Model& model, const NetworkInput& in, std::span<const std::uint32_t> ids,
                                  MatrixView embedded, Buffer<float>& scratch);

/// Computes what a layer makes of its tokens' inputs (`TokenInput`). `inputs` are those of this layer, `read` is what
/// its gate reads.
[[nodiscard]] Matrix token_addend(const Checkpoint& checkpoint, const TokenInput& layer, Activation activation,
                                  MatrixView inputs, MatrixView read, Buffer<float>& scratch);

}  // namespace headscope
