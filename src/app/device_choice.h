#pragma once

#include <memory>

#include "headscope/app/request_parts.h"
#include "headscope/base/context.h"
#include "headscope/organize/tree_distance.h"
#include "headscope/relate/affinity_engine.h"

namespace headscope::app {

/// Returns the engine of the requested device. `cuda` without a number is the first device or, with several ranks on a
/// machine, one per rank; ranks with the same device share its memory. What a device reports goes to `context.log`.
/// Collective.
///
/// \throws Error  on all ranks, if one of them fails: kInvalidArgument if device and precision do not fit together;
///                kBackend if this build or this machine has no such device.
[[nodiscard]] std::shared_ptr<const AffinityEngine> choose_affinity_engine(const Resources& resources,
                                                                           const Context& context);
[[nodiscard]] std::shared_ptr<const TreeDistance> choose_tree_distance(const Resources& resources,
                                                                       const Context& context);

}  // namespace headscope::app
