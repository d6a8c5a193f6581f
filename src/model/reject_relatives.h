#pragma once

#include <cstddef>
#include <vector>

#include "headscope/io/checkpoint.h"
#include "model/find_family.h"

namespace headscope {

/// Refuses members of a family whose config.json says that they compute something that is not implemented.
/// \throws Error  kUnsupported, or kFormat for invalid values.
void reject_relatives(const Checkpoint& checkpoint, const FamilyMatch& match);

/// Refuses decoders without a causal mask that are not read as others without one are. `windows` are those of the
/// layers.
/// \throws Error  kUnsupported.
void reject_unmasked(const Checkpoint& checkpoint, const FamilyMatch& match, const std::vector<std::size_t>& windows);

}  // namespace headscope
