#pragma once

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/session.h"
#include "headscope/organize/tree_distance.h"
#include "headscope/relate/affinity_engine.h"

namespace headscope::cli {

/// Where the heavy work runs, as it was typed.
struct DeviceWords {
  std::string device = "cpu";
  std::string precision;  ///< Empty: the device's own choice.
};

/// --device cpu|cuda[:N]
void add_device_option(Command& command, DeviceWords& words);
/// --precision tf32|fp16|bf16|float32
void add_precision_option(Command& command, DeviceWords& words);

/// `cuda` without a number takes the first device, or with several ranks on a machine one for each; ranks that are
/// given the same one share its memory. What a device has to say goes to stderr unless the session is quiet. All ranks
/// call it.
///
/// \throws Error  on all ranks, if one of them meets it: kInvalidArgument if the words make no sense together; kBackend
///                if this build has no such device, or the machine has not.
[[nodiscard]] std::unique_ptr<AffinityEngine> choose_affinity_engine(const DeviceWords& words, Session& session);
[[nodiscard]] std::unique_ptr<TreeDistance> choose_tree_distance(const DeviceWords& words, Session& session);

}  // namespace headscope::cli
