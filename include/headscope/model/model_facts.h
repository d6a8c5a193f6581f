#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "headscope/model/model.h"

namespace headscope {

// What a user asks first about a model, from headers and configuration alone.

/// Returns the number of parameters in the files: all values of floating-point and quantized tensors. Left out are
/// tables that are not learned: masks, inverse frequencies, indices of positions. Weights that are tied, and so are
/// stored once, count once.
[[nodiscard]] std::uint64_t parameter_count(const Checkpoint& checkpoint);

/// Returns the longest input in tokens for which the configuration says the model is made; nothing if it does not say,
/// and for images.
[[nodiscard]] std::optional<std::size_t> context_length(const Model& model);

/// Returns whether the files have a tokenizer, so that the model takes text. Whether it can be read is known only to
/// who opens it.
[[nodiscard]] bool has_tokenizer(const Checkpoint& checkpoint);

}  // namespace headscope
