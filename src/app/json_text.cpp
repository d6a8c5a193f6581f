#include "app/json_text.h"

#include <cmath>

namespace headscope::app {

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json number(const std::optional<double>& value) {
  return value ? number(*value) : Json();
}

std::string json_text(const Json& root) {
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json_text(Json root, const RunFiles& files) {
  if (!files.folder.empty()) root["run"] = files.folder.string();
  root["files"] = files.names;
  root["seconds"] = files.seconds;
  return json_text(root);
}

}  // namespace headscope::app
