#include "model/reject_relatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "headscope/base/error.h"
#include "model/config_reader.h"

namespace headscope {
namespace {

bool is_value(JsonValue found, const std::string& expected) {
  if (const auto flag = found.as_bool()) return expected == (*flag ? "true" : "false");
  if (const auto number = found.as_number()) return fmt::format("{}", *number) == expected;
  return found.is_null() || found.as_string() == expected;
}

// Mamba 2: steps may have limits, by default from 0 to infinity, which JSON has as null or as an object.
void reject_limited_steps(const ConfigReader& config) {
  std::vector<JsonValue> limits;
  for (const JsonValue one : config.scope().find("time_step_limit").items()) limits.push_back(one);
  if (limits.empty()) return;
  if (limits.size() != 2) config.malformed(fmt::format("'time_step_limit' has {} entries, expected 2", limits.size()));
  constexpr double kNoLimit = 1e9;
  if (limits[0].as_number() != 0 || limits[1].as_number().value_or(kNoLimit) < kNoLimit) {
    config.unsupported("'time_step_limit' is not from 0 to infinity");
  }
}

// Code of the model itself may read in both directions where its model_type does not (LFM2.5-Encoder).
void reject_bidirectional_class(JsonValue config, const FamilyMatch& match, const ConfigReader& reader) {
  if (!match.family->causal || (!match.causal && !match.layout->hybrid)) return;
  std::vector<std::string_view> classes;
  for (const JsonValue one : config.find("architectures").items()) classes.push_back(one.as_string().value_or(""));
  for (const auto [key, one] : config.find("auto_map").members()) classes.push_back(one.as_string().value_or(""));
  for (const std::string_view name : classes) {
    if (name.find("idirectional") == std::string_view::npos) continue;
    reader.unsupported(fmt::format("the model is a '{}', which reads in both directions", printable(name)));
  }
}

}  // namespace

// Decoders without a causal mask whose scores or windows are not those of other models that read in both directions. In
// GGUF, llama.cpp widens windows to all later tokens and centers short convolutions.
void reject_unmasked(const Checkpoint& checkpoint, const FamilyMatch& match, const std::vector<std::size_t>& windows) {
  const ConfigReader config(checkpoint, match.config);
  const Family& family = *match.family;
  const bool gguf = checkpoint.is_gguf();
  const bool states = !config.boolean("is_causal").value_or(true);
  if (states && !match.layout->decoder.empty()) config.unsupported("'is_causal' is false, also in the decoder");
  if (!family.causal || match.causal) return;
  if (family.forward.chunks) config.unsupported("attends in both directions, but not in layers with chunks");
  if (match.position == PositionKind::kAlibi && !gguf) config.unsupported("attends in both directions with ALiBi");
  if (match.layout->hybrid && gguf) config.unsupported("attends in both directions, also in layers without attention");
  const bool known = !gguf && (states || family.name == "gemma3" || family.name == "gemma4");
  if (!known && std::ranges::any_of(windows, [](std::size_t one) { return one > 0; })) {
    config.unsupported("attends in both directions, also in layers with a window");
  }
}

void reject_relatives(const Checkpoint& checkpoint, const FamilyMatch& match) {
  const ConfigReader config(checkpoint, match.config);
  reject_bidirectional_class(checkpoint.config(), match, config);
  const Family& family = *match.family;
  for (const UsualValue& usual : family.forward.usual_values) {
    if (is_value(find_path(config.scope(), usual.key), usual.value)) continue;
    config.unsupported(fmt::format("'{}' is not {}", usual.key, usual.value));
  }
  if (match.layout->forward.mixer.kind == MixerKind::kGroupedState && family.forward.min_state_step <= 0) {
    reject_limited_steps(config);
  }
  if (!family.causal && config.boolean("is_decoder").value_or(false)) config.unsupported("'is_decoder' is true");
  if (config.boolean("enable_moe_block").value_or(false)) config.unsupported("its MLPs are beside mixtures of experts");
  const auto kind = config.word({"position_embedding_type"});
  if (family.forward.token_dropout && kind.value_or("absolute") != "rotary") {
    config.unsupported(fmt::format("position_embedding_type '{}'", printable(kind.value_or("absolute"))));
  }
  if (config.boolean("apply_residual_connection_post_layernorm").value_or(false)) {
    config.unsupported("'apply_residual_connection_post_layernorm' is true");
  }
  if (kind && *kind != "absolute" && family.order == NormOrder::kPost) {
    config.unsupported(fmt::format("position_embedding_type '{}'", printable(*kind)));
  }
}

}  // namespace headscope
