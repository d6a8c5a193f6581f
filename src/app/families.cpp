#include "headscope/app/families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/json_text.h"

namespace headscope {

using namespace app;

void describe(FamiliesRequest&, OptionList&) {}

std::optional<FamiliesOutcome> run(const FamiliesRequest&, const Context&) {
  return FamiliesOutcome{family_table(), {}};
}

std::string summary(const FamiliesOutcome& outcome) {
  std::string text = fmt::format("{} families of models\n\n", outcome.families.size());
  text += fmt::format("{:<24} {:<6} {:<7} {:<23} {:<6} {}\n", "family", "input", "relate", "capture, detect, patch",
                      "prune", "GGUF");
  for (const FamilySupport& row : outcome.families) {
    const std::string gguf = !row.gguf ? "-" : row.runs_gguf ? "yes" : "relate only";
    text += fmt::format("{:<24} {:<6} {:<7} {:<23} {:<6} {}\n", row.family->name, to_string(row.family->modality),
                        "yes", row.runs ? "yes" : "-", row.prunes ? "yes" : "-", gguf);
  }
  return text + "\ninspect MODEL says what works for a model, and why.\n";
}

std::string to_json(const FamiliesOutcome& outcome) {
  Json families = Json::array();
  for (const FamilySupport& row : outcome.families) {
    const Family& family = *row.family;
    families.push_back({{"family", family.name},
                        {"model_types", family.model_types},
                        {"gguf_architecture", row.gguf ? Json(family.gguf->architecture) : Json(nullptr)},
                        {"input", to_string(family.modality)},
                        {"causal", family.causal},
                        {"relate", true},
                        {"capture", row.runs},
                        {"detect", row.runs},
                        {"patch", row.runs},
                        {"prune", row.prunes},
                        {"gguf_relate", row.gguf},
                        {"gguf_capture", row.runs_gguf},
                        {"in_particular", family.remark}});
  }
  return json_text({{"families", families}});
}

}  // namespace headscope
