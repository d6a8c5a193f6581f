#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "headscope/app/command.h"

namespace headscope::app {

using Json = nlohmann::ordered_json;

/// Null for NaN and infinity, which JSON does not have.
[[nodiscard]] Json number(double value);
/// Null if there is none.
[[nodiscard]] Json number(const std::optional<double>& value);

/// The text that --json prints, with a final line end. Bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string json_text(const Json& root);
/// The same with the names of the files, their folder and the duration of the command.
[[nodiscard]] std::string json_text(Json root, const RunFiles& files);

}  // namespace headscope::app
