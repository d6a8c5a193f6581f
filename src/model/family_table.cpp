#include "headscope/model/family_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "headscope/base/spelling.h"

namespace headscope {
namespace {

bool has_forward_pass(const Family& family, const std::vector<Layout>& layouts) {
  return family.no_forward.empty() && std::ranges::any_of(layouts, [](const Layout& layout) {
           return !layout.forward.mlp.empty() || !layout.forward.experts.routers.empty();
         });
}

bool has_decoder(const Family& family) {
  return std::ranges::any_of(family.layouts, [](const Layout& layout) { return !layout.decoder.empty(); });
}

}  // namespace

std::vector<FamilySupport> family_table() {
  std::vector<FamilySupport> table;
  for (const Family& family : known_families()) {
    table.push_back({.family = &family,
                     .runs = has_forward_pass(family, family.layouts),
                     .prunes = has_forward_pass(family, family.layouts) && !has_decoder(family),
                     .gguf = family.gguf.has_value(),
                     .runs_gguf = family.gguf && has_forward_pass(family, family.gguf->layouts)});
  }
  return table;
}

const Family* nearest_family(std::string_view stated) {
  constexpr std::size_t kLongest = 64;  // no model is called that
  if (stated.empty() || stated.size() > kLongest) return nullptr;
  const Family* nearest = nullptr;
  std::size_t fewest = stated.size() / 2 + 1;
  const auto consider = [&](const Family& family, std::string_view name) {
    if (const std::size_t distance = edits(stated, name); distance < fewest) {
      nearest = &family;
      fewest = distance;
    }
  };
  for (const Family& family : known_families()) {
    for (const std::string& type : family.model_types) consider(family, type);
    consider(family, family.name);
  }
  // An architecture of GGUF that is as near is less likely to be meant: "mistrall" is mistral, not ministral3's
  // mistral3.
  for (const Family& family : known_families()) {
    if (family.gguf) consider(family, family.gguf->architecture);
  }
  return nearest;
}

std::string families_markdown() {
  std::string text =
      "| family | `model_type` | input | runs | GGUF | GGUF runs | in particular |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  const auto yes = [](bool value) { return value ? "yes" : ""; };
  for (const FamilySupport& row : family_table()) {
    const Family& family = *row.family;
    std::vector<std::string> types;
    for (const std::string& type : family.model_types) types.push_back(fmt::format("`{}`", type));
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", family.name, fmt::join(types, ", "),
                    to_string(family.modality), yes(row.runs),
                    row.gguf ? fmt::format("`{}`", family.gguf->architecture) : "", yes(row.runs_gguf), family.remark);
  }
  return text;
}

}  // namespace headscope
