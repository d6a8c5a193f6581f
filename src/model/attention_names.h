#pragma once

#include <string>

#include "headscope/io/checkpoint.h"

namespace headscope {

/// The tensors that look like Q, K, V or O, once for all layers, with the
/// shape of the first: "h.{i}.attn.c_attn.weight [768, 2304], ...". At most eight; for messages
/// about models headscope does not know.
[[nodiscard]] std::string attention_looking_tensors(const Checkpoint& checkpoint);

}  // namespace headscope
