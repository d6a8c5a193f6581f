#include "model/layer_names.h"

#include <charconv>

namespace headscope {
namespace {

constexpr std::string_view kPlaceholder = "{i}";
constexpr std::size_t kMaxDigits = 5;  // no model has 100,000 layers; a longer number is not a layer

}  // namespace

std::string layer_name(std::string_view pattern, std::size_t layer) {
  std::string name(pattern);
  if (const auto at = name.find(kPlaceholder); at != std::string::npos) {
    name.replace(at, kPlaceholder.size(), std::to_string(layer));
  }
  return name;
}

std::optional<LayerMatch> match_layer(std::string_view name, std::string_view pattern) {
  const auto at = pattern.find(kPlaceholder);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = pattern.substr(0, at);
  const std::string_view after = pattern.substr(at + kPlaceholder.size());
  if (!name.ends_with(after)) return std::nullopt;
  name.remove_suffix(after.size());

  const auto digits_begin = name.find_last_not_of("0123456789") + 1;  // npos + 1 == 0
  const std::string_view digits = name.substr(digits_begin);
  if (digits.empty() || digits.size() > kMaxDigits) return std::nullopt;
  LayerMatch match{name.substr(0, digits_begin), 0};
  std::from_chars(digits.data(), digits.data() + digits.size(), match.layer);

  if (!match.prefix.ends_with(before)) return std::nullopt;
  match.prefix.remove_suffix(before.size());
  if (!match.prefix.empty() && !match.prefix.ends_with('.')) return std::nullopt;
  return match;
}

}  // namespace headscope
