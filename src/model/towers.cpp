#include "model/towers.h"

#include <algorithm>
#include <array>
#include <span>

namespace headscope {
namespace {

JsonValue first_object(JsonValue config, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const JsonValue found = config.find(key); found.is_object()) return found;
  }
  return {};
}

}  // namespace

std::vector<Tower> towers_of(const Checkpoint& checkpoint) {
  if (checkpoint.is_gguf()) return {};
  const JsonValue config = checkpoint.config();
  const JsonValue text = first_object(config, {"text_config", "llm_config"});
  const JsonValue vision = first_object(config, {"vision_config"});
  std::vector<Tower> towers;
  if (text.is_object() || vision.is_object()) towers.push_back({Modality::kText, text.is_object() ? text : config});
  if (vision.is_object()) towers.push_back({Modality::kImage, vision});
  return towers;
}

std::string_view tower_name(Modality modality) noexcept {
  switch (modality) {
    case Modality::kText:
      return "text";
    case Modality::kImage:
      return "vision";
    case Modality::kAudio:
      return "audio";
  }
  return "";
}

bool names_other_tower(std::string_view prefix, Modality modality) {
  constexpr std::array<std::string_view, 5> kNotImages = {"text_", "language_", "llm.", "audio_", "speech_"};
  constexpr std::array<std::string_view, 6> kNotText = {"vision", "visual", "image_", "audio_", "speech_", "resampler"};
  constexpr std::array<std::string_view, 6> kNotAudio = {"text_", "language_", "llm.", "vision", "visual", "image_"};
  std::span<const std::string_view> words = kNotText;
  if (modality == Modality::kImage) words = kNotImages;
  if (modality == Modality::kAudio) words = kNotAudio;
  return std::ranges::any_of(words, [&](std::string_view word) { return prefix.find(word) != std::string_view::npos; });
}

std::vector<std::string_view> enclosing_prefixes(std::string_view prefix) {
  std::vector<std::string_view> all = {prefix};
  while (!prefix.empty()) {
    prefix.remove_suffix(1);
    prefix = prefix.substr(0, prefix.rfind('.') + 1);  // npos + 1 == 0
    all.push_back(prefix);
  }
  return all;
}

}  // namespace headscope
