#include "cli/head_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "headscope/base/error.h"

namespace headscope::cli {
namespace {

// No model has as many layers or heads; a range must not fill the memory before the model is asked.
constexpr std::size_t kMax = 100000;

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number >= kMax) return std::nullopt;
  return number;
}

// "7" or "3-5". False if it is neither.
bool add_range(std::string_view word, std::vector<std::size_t>& numbers) {
  const std::size_t dash = word.find('-');
  const auto first = parse_number(word.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_number(word.substr(dash + 1));
  if (!first || !last || *last < *first) return false;
  for (std::size_t number = *first; number <= *last; ++number) numbers.push_back(number);
  return true;
}

}  // namespace

void add_head_choice_options(Command& command, HeadChoiceWords& words) {
  command.add_option("--layers", words.layers, "Only these layers, from 0: numbers and ranges, e.g. 0,3-5").list();
  command
      .add_option("--heads", words.heads,
                  "Only these heads: numbers and ranges for every layer, e.g. 0-3,7, or single heads, e.g. L4H7,4.8")
      .list();
}

HeadChoice parse_head_choice(const HeadChoiceWords& words) {
  HeadChoice choice;
  for (const std::string& word : words.layers) {
    if (add_range(word, choice.layers)) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--layers: '{}' is neither a number from 0 nor a range such as 3-5", printable(word, 60)));
  }
  for (const std::string& word : words.heads) {
    if (add_range(word, choice.heads)) continue;
    const auto id = parse_head(word);
    if (!id) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--heads: '{}' is neither a number from 0, a range such as 3-5 nor a head such as L4H7 "
                              "or 4.7",
                              printable(word, 60)));
    }
    choice.named.push_back(*id);
  }
  return choice;
}

std::vector<HeadId> chosen_heads(const HeadChoice& choice, const HeadSizes& sizes) {
  if (choice.layers.empty() && choice.heads.empty() && choice.named.empty()) return {};
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}, the model has {} layers of {} heads", what, sizes.layers, sizes.heads));
  };
  for (const std::size_t layer : choice.layers) {
    if (layer >= sizes.layers) refuse(fmt::format("--layers: there is no layer {}", layer));
  }
  for (const std::size_t head : choice.heads) {
    if (head >= sizes.heads) refuse(fmt::format("--heads: there is no head {}", head));
  }
  std::set<HeadId> chosen;
  const auto is_chosen_layer = [&](std::size_t layer) {
    return choice.layers.empty() || std::ranges::find(choice.layers, layer) != choice.layers.end();
  };
  for (const HeadId& id : choice.named) {
    if (id.key_value || id.layer >= sizes.layers || id.head >= sizes.heads || !is_chosen_layer(id.layer)) {
      refuse(fmt::format("--heads: there is no query head {} in the chosen layers", to_string(id)));
    }
    chosen.insert(id);
  }
  const bool whole_layers = choice.heads.empty() && choice.named.empty();
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    if (!is_chosen_layer(layer)) continue;
    for (std::size_t head = 0; head < sizes.heads; ++head) {
      if (whole_layers || std::ranges::find(choice.heads, head) != choice.heads.end()) chosen.insert({layer, head});
    }
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace headscope::cli
