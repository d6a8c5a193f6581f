#pragma once

#include <optional>
#include <string>

#include "headscope/io/json.h"
#include "headscope/run/run_folder.h"

namespace headscope {

/// Returns in which way a command differs from the one of the same name that a manifest describes, in words for people:
/// "the model was models/a, now models/b". Nothing if both have the same identity. Never shows a fingerprint.
[[nodiscard]] std::optional<std::string> difference(JsonValue before, const RunCommand& now);

}  // namespace headscope
