#pragma once

#include "model/forward_settings.h"

namespace headscope {

/// What llama.cpp's converter keeps of a configuration, the rest being as the family has it.
/// \throws Error  as `forward_settings`.
[[nodiscard]] ForwardSettings gguf_settings(const Checkpoint& checkpoint, const FamilyMatch& match,
                                            const HeadSizes& sizes);

}  // namespace headscope
