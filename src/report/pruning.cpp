#include <fmt/format.h>

#include "headscope/base/error.h"
#include "report/page_data.h"

namespace headscope::report {

void add_pruning(PageData& page) {
  constexpr const char* kFile = "prune.json";
  if (!page.run.has(kFile)) return;
  const JsonDocument document = page.run.json(kFile);
  const JsonValue root = document.root();
  const auto text = [&](const char* name) {
    const auto value = root.find(name).as_string();
    if (!value) throw Error(ErrorKind::kFormat, fmt::format("{}: has no string '{}'", page.run.where(kFile), name));
    return std::string(*value);
  };
  const auto count = [&](const char* name) {
    const auto value = root.find(name).as_unsigned();
    if (!value) throw Error(ErrorKind::kFormat, fmt::format("{}: has no number '{}'", page.run.where(kFile), name));
    return *value;
  };
  Json structural = Json::array();
  for (const JsonValue one : root.find("rankings").items()) {
    if (one.find("structural").as_bool().value_or(false))
      structural.push_back(one.find("criterion").as_string().value_or(""));
  }
  page.root["prune"] = {{"said", text("said")},
                        {"measure", text("damage_measure")},
                        {"heads", count("heads")},
                        {"removed", count("removed")},
                        {"chosen_on", count("chosen_on")},
                        {"measured_on", count("measured_on")},
                        {"held_out", root.find("held_out").as_bool().value_or(false)},
                        {"replacement_note", root.find("replacement_note").as_string().value_or("")},
                        {"structural", std::move(structural)}};
}

}  // namespace headscope::report
