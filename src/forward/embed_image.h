#pragma once

#include <cstddef>

#include "headscope/base/matrix.h"
#include "headscope/image/pixels.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// Returns the number of tokens of an image: class tokens, registers and patches.
/// \throws Error  kFormat if the model does not take images of this size.
[[nodiscard]] std::size_t image_tokens(const NetworkInput& in, const Pixels& pixels, std::size_t index);

/// Writes the tokens of an image, with their positions, before the norm of the embedding. The image must have passed
/// `image_tokens`.
void embed_image(const Model& model, const NetworkInput& in, const Pixels& pixels, MatrixSpan stream);

}  // namespace headscope
