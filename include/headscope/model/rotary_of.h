#pragma once

#include "headscope/model/model.h"
#include "headscope/model/rotary.h"

namespace headscope {

/// Returns the rotary positions of the model, from its configuration or GGUF metadata; width 0 if it has none. Which
/// components of a head form a pair is that of the stored weights: GGUF files of some families hold permuted ones. If
/// sliding-window layers have rotary positions of their own, these differ only in frequencies; the others are returned.
///
/// \throws Error  kUnsupported for a kind of scaling that is not implemented, kFormat for invalid values.
[[nodiscard]] Rotary rotary_of(const Model& model);
/// The same for one layer: width 0 if only other layers have rotary positions.
[[nodiscard]] Rotary rotary_of(const Model& model, std::size_t layer);

}  // namespace headscope
