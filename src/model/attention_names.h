#pragma once

#include <string>

#include "headscope/io/checkpoint.h"

namespace headscope {

/// Lists the tensors that look like Q, K, V or O, once for all layers, with the shape of the first:
/// "h.{i}.attn.c_attn.weight [768, 2304], ...". At most eight; for error messages about unknown models.
[[nodiscard]] std::string attention_looking_tensors(const Checkpoint& checkpoint);

}  // namespace headscope
