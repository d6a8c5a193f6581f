#pragma once

#include <cstddef>

#include "headscope/base/matrix.h"
#include "headscope/forward/forward.h"
#include "headscope/model/network.h"

namespace headscope {

/// Number of tokens that the convolutions make of these features.
/// \throws Error  kFormat if the features do not fit the model.
[[nodiscard]] std::size_t audio_tokens(const NetworkInput& in, const AudioFeatures& audio, std::size_t index);

/// Runs the convolutions, each followed by GELU (Whisper, arXiv 2212.04356): one row per token.
void embed_audio(const Model& model, const NetworkInput& in, const AudioFeatures& audio, MatrixSpan stream);

}  // namespace headscope
