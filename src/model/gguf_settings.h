#pragma once

#include "model/forward_settings.h"

namespace headscope {

/// Reads what llama.cpp's converter keeps of a configuration; everything else is the family's default.
/// \throws Error  as `forward_settings`.
[[nodiscard]] ForwardSettings gguf_settings(const Checkpoint& checkpoint, const FamilyMatch& match,
                                            const HeadSizes& sizes);

}  // namespace headscope
