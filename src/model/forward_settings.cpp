#include "model/forward_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include "headscope/base/error.h"
#include "model/config_reader.h"
#include "model/gguf_settings.h"
#include "model/patch_window_settings.h"
#include "model/reject_relatives.h"
#include "model/rotary_settings.h"

namespace headscope {
namespace {

constexpr std::array<std::pair<std::string_view, Activation>, 13> kActivations = {{
    {"relu", Activation::kRelu},
    {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_accurate", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_python_tanh", Activation::kGeluTanh},
    {"quick_gelu", Activation::kQuickGelu},
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"tanh", Activation::kTanh},
    {"relu2", Activation::kRelu2},
}};

Activation activation(const ConfigReader& config, const ForwardRules& rules) {
  auto name = config.word(rules.activation_keys);
  if (!name) return rules.activation;
  if (name->starts_with("gated-")) name = *name == "gated-gelu" ? "gelu_new" : name->substr(6);  // T5
  for (const auto& [known, activation] : kActivations) {
    if (*name == known) return activation;
  }
  config.unsupported(fmt::format("activation '{}'", printable(*name)));
}

// Returns one value per layer of a list in the configuration; empty if there is none.
std::vector<JsonValue> by_layer(const ConfigReader& config, std::string_view key, std::size_t layers) {
  const JsonValue list = config.scope().find(key);
  if (!list.is_array() || list.size() == 0) return {};
  if (list.size() != layers) {
    config.malformed(fmt::format("'{}' has {} entries for {} layers", key, list.size(), layers));
  }
  std::vector<JsonValue> values;
  for (const JsonValue item : list.items()) values.push_back(item);
  return values;
}

// Which layers are local, according to GPT-Neo's `attention_types`, e.g. [[["global", "local"], 12]]; empty if it does
// not say so of every layer.
std::vector<bool> attention_types(const ConfigReader& config, std::size_t layers) {
  std::vector<bool> result;
  for (const JsonValue part : config.scope().find("attention_types").items()) {
    std::vector<JsonValue> pair;
    for (const JsonValue item : part.items()) pair.push_back(item);
    const std::size_t kinds = pair.size() == 2 ? pair[0].size() : 0;
    const std::uint64_t times = pair.size() == 2 ? pair[1].as_unsigned().value_or(0) : 0;
    if (kinds == 0 || times > layers) return {};
    for (std::uint64_t i = 0; i < times && result.size() < layers; ++i) {
      for (const JsonValue kind : pair[0].items()) result.push_back(kind.as_string() == "local");
    }
  }
  return result.size() == layers ? result : std::vector<bool>();
}

// Which layers have rotary positions.
std::vector<bool> rotated(const ConfigReader& config, const ForwardRules& rules, const std::vector<bool>& windowed) {
  std::vector<bool> result(windowed.size(), true);
  if (rules.rotary_layers == RotaryLayers::kWindowed) return config.is_null(rules.window_key) ? result : windowed;
  if (rules.rotary_layers == RotaryLayers::kAll) return result;
  if (rules.rotary_layers == RotaryLayers::kStated) {
    result.assign(result.size(), config.word({"position_embedding_type"}).value_or("") == "rope");
    return result;
  }
  const std::vector<JsonValue> listed = by_layer(config, "no_rope_layers", windowed.size());
  const std::size_t every = std::max<std::size_t>(config.size({"no_rope_layer_interval"}).value_or(4), 1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = listed.empty() ? (i + 1) % every != 0 : listed[i].as_unsigned().value_or(1) != 0;
  }
  return result;
}

// Which layers have a window, according to `layer_types`, `attention_layers` (GPT-Neo) or the family's rule.
std::vector<bool> windowed(const ConfigReader& config, const ForwardRules& rules, std::size_t layers) {
  std::vector<bool> result(layers);
  const bool knows_types = rules.windows != Windows::kNone && rules.windows != Windows::kAll;
  for (const char* key : {"layer_types", "attention_layers"}) {
    if (!knows_types) continue;
    const std::vector<JsonValue> types = by_layer(config, key, layers);
    if (types.empty()) continue;
    for (std::size_t i = 0; i < layers; ++i) {
      const std::string_view type = types[i].as_string().value_or("not a string");
      const bool local =
          type == "sliding_attention" || type == "local" || (rules.chunks && type == "chunked_attention");
      if (!local && type != "full_attention" && type != "global") {
        config.unsupported(fmt::format("layer type '{}'", printable(type)));
      }
      result[i] = local;
    }
    return result;
  }
  if (std::vector<bool> listed = attention_types(config, layers); knows_types && !listed.empty()) return listed;
  const std::size_t first = config.size({"max_window_layers"}).value_or(28);
  const std::size_t every = std::max<std::size_t>(
      config.size({"sliding_window_pattern", "global_attn_every_n_layers"}).value_or(rules.window_pattern), 1);
  for (std::size_t i = 0; i < layers; ++i) {
    switch (rules.windows) {
      case Windows::kNone:
        break;
      case Windows::kAll:
        result[i] = true;
        break;
      case Windows::kFromLayer:
        result[i] = i >= first;
        break;
      case Windows::kEveryOther:
        result[i] = i % 2 == 0;
        break;
      case Windows::kAllButEveryNth:
        result[i] = (i + 1) % every != 0;
        break;
      case Windows::kAllButFirstOfN:
        result[i] = i % every != 0;
        break;
      case Windows::kListed:
        result[i] = true;
        break;
      case Windows::kRotated:
        return rotated(config, rules, result);
    }
  }
  return result;
}

// The window of a decoder that reads in both directions: queries see keys at a smaller distance than this. Gemma's key
// counts both sides. `is_causal`, which Gemma 4 sets, too, includes the distance that is stated.
std::size_t window_on_both_sides(const ConfigReader& config, std::size_t stated) {
  const JsonValue gemma = config.scope().find("use_bidirectional_attention");
  const bool all = gemma.as_string() == "all";
  if (all || gemma.as_bool().value_or(false)) stated = stated / 2 + 1;
  return all || !config.boolean("is_causal").value_or(true) ? stated + 1 : stated;
}

std::size_t window(const ConfigReader& config, const FamilyMatch& match) {
  const Family& family = *match.family;
  const ForwardRules& rules = family.forward;
  if (rules.windows == Windows::kNone) return 0;
  const bool optional = rules.windows == Windows::kFromLayer || rules.windows_switched;
  if (optional && !config.boolean("use_sliding_window").value_or(false)) return 0;
  if (!config.boolean("same_length").value_or(true)) return 0;  // Transformer-XL
  // null means no window; a missing key means the default of the configuration class.
  if (config.is_null(rules.window_key)) return 0;
  const std::size_t width = config.size({rules.window_key}).value_or(static_cast<std::size_t>(rules.window));
  if (width == 0) return 0;
  if (!family.causal) return width / 2 + 1;
  // ModernBERT's key counts both sides, also in its decoder, which has one.
  const std::size_t side = rules.window_key == "local_attention" ? width / 2 : width;
  return match.causal ? side : window_on_both_sides(config, side);
}

double factor(const ConfigReader& config, const std::string& key, double by_default = 1) {
  return key.empty() ? by_default : config.positive({key}).value_or(by_default);
}

void set_factors(const ConfigReader& config, const ForwardRules& rules, ForwardSettings& settings) {
  const FactorKeys& keys = rules.factors;
  settings.embedding_factor = factor(config, keys.embedding);
  settings.branch_factor = factor(config, keys.branches);
  settings.logit_factor = factor(config, keys.logits, rules.logit_factor) / factor(config, keys.logits_divisor);
  const double unstated = rules.score_factor > 0 ? rules.score_factor : settings.score_scale;
  if (!keys.scores.empty()) settings.score_scale = factor(config, keys.scores, unstated);
  if (!rules.clip_key.empty()) settings.clip = config.positive({rules.clip_key}).value_or(0);
}

// Llama 4's keys. Files have numbers for true and false, too.
void set_temper(const ConfigReader& config, const ForwardRules& rules, ForwardSettings& settings) {
  if (rules.bare_head_norms) settings.bare_head_norms = config.boolean("use_qk_norm").value_or(true);
  if (!rules.tempered_queries) return;
  const JsonValue stated = config.scope().find("attn_temperature_tuning");
  if (!stated.as_bool().value_or(stated.as_number().value_or(1) != 0)) return;
  settings.query_growth = config.positive({"attn_scale"}).value_or(0.1);
  settings.query_period = config.positive({"floor_scale"}).value_or(8192);
  settings.query_shift = 1;
}

// DeBERTa's keys; older files join the words of a list by '|'.
void set_relative(const ConfigReader& config, const HeadSizes& sizes, ForwardSettings& settings) {
  settings.absolute = config.boolean("position_biased_input").value_or(true);
  settings.relative = config.boolean("relative_attention").value_or(false);
  if (config.size({"conv_kernel_size"}).value_or(0) > 0) config.unsupported("a convolution follows the first layer");
  if (!settings.relative) return;
  std::string kinds(config.scope().find("pos_att_type").as_string().value_or(""));
  for (const JsonValue item : config.scope().find("pos_att_type").items()) {
    kinds += fmt::format("|{}", item.as_string().value_or(""));
  }
  settings.relative_keys = kinds.find("c2p") != std::string::npos;
  settings.relative_queries = kinds.find("p2c") != std::string::npos;
  settings.relative_shared = config.boolean("share_att_key").value_or(false);
  const std::string_view norm = config.scope().find("norm_rel_ebd").as_string().value_or("none");
  settings.relative_normed = norm.find("layer_norm") != std::string_view::npos;
  const auto number = [&](const char* key) {
    const double value = config.scope().find(key).as_number().value_or(-1);
    return value >= 1 && value <= 1e9 ? static_cast<std::size_t>(value) : 0;
  };
  settings.relative_buckets = number("position_buckets");
  settings.relative_longest = number("max_relative_positions");
  if (settings.relative_longest == 0) settings.relative_longest = number("max_position_embeddings");
  const int terms = 1 + (settings.relative_keys ? 1 : 0) + (settings.relative_queries ? 1 : 0);
  settings.score_scale = 1 / std::sqrt(static_cast<double>(sizes.d_head) * terms);
}

// Transformer-XL's keys.
void set_distances(const ConfigReader& config, ForwardSettings& settings) {
  if (config.boolean("pre_lnorm").value_or(false)) config.unsupported("'pre_lnorm' is true");
  if (config.size({"attn_type"}).value_or(0) != 0) config.unsupported("'attn_type' is not 0");
  settings.relative = settings.relative_keys = true;
  const double longest = config.scope().find("clamp_len").as_number().value_or(-1);
  settings.relative_longest = longest >= 1 && longest <= 1e9 ? static_cast<std::size_t>(longest) : 0;
}

// Falcon-H1's keys. Attention is linear in what its values are made of, and scores in what queries and keys are.
void set_factors_by_place(const ConfigReader& config, const ForwardRules& rules, ForwardSettings& settings) {
  if (!rules.factors_by_place) return;
  const auto one = [&](const char* key) { return config.positive({key}).value_or(1); };
  const auto listed = [&](const char* key, std::size_t count) {
    std::vector<double> values = config.numbers(key);
    if (values.empty()) values.assign(count, 1);
    if (values.size() != count)
      config.malformed(fmt::format("'{}' has {} entries, expected {}", key, values.size(), count));
    return values;
  };
  // A factor on what is read is moved behind the projection, which is the same only if that has no bias.
  const auto reject_bias = [&](const char* bias, const char* factor) {
    if (one(factor) == 1 || !config.boolean(bias).value_or(false)) return;
    config.unsupported(fmt::format("'{}' is true and '{}' is not 1", bias, factor));
  };
  reject_bias("attention_bias", "attention_in_multiplier");
  reject_bias("mamba_proj_bias", "ssm_in_multiplier");
  reject_bias("projectors_bias", "ssm_out_multiplier");
  const double read = one("attention_in_multiplier");
  settings.score_scale *= one("key_multiplier") * read * read;
  FactorsByPlace& factors = settings.by_place;
  factors.attention_out = static_cast<float>(read * one("attention_out_multiplier"));
  const std::vector<double> mlp = listed("mlp_multipliers", 2);
  factors.gate = static_cast<float>(mlp[0]);
  factors.mlp_out = static_cast<float>(mlp[1]);
  const std::vector<double> states = listed("ssm_multipliers", 5);
  for (std::size_t k = 0; k < states.size(); ++k) {
    factors.states[k] = static_cast<float>(states[k] * one("ssm_in_multiplier"));
  }
  factors.states_out = static_cast<float>(one("ssm_out_multiplier"));
}

// The x below which a standard normal variable lies with this probability, by Newton's method.
double normal_quantile(double probability) {
  double x = 0;
  for (int step = 0; step < 100; ++step) {
    const double density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    const double change = (std::erfc(-x / std::numbers::sqrt2) / 2 - probability) / density;
    x -= std::clamp(change, -1.0, 1.0);
    if (std::abs(change) < 1e-12) break;
  }
  return x;
}

// Gemma 3n's keys.
void set_side_streams(const ConfigReader& config, const ForwardRules& rules, std::size_t layers,
                      ForwardSettings& settings) {
  if (!rules.sparse_gates) return;
  if (config.size({"altup_active_idx"}).value_or(0) != 0) config.unsupported("'altup_active_idx' is not 0");
  settings.scaled_token_gate = config.boolean("altup_correct_scale").value_or(true);
  const std::vector<JsonValue> listed = by_layer(config, "activation_sparsity_pattern", layers);
  for (std::size_t i = 0; i < layers; ++i) {
    const double by_default = layers > 10 && i < 10 ? 0.95 : 0;
    const double share = listed.empty() ? by_default : listed[i].as_number().value_or(-1);
    if (!(share >= 0 && share < 1)) {
      config.malformed("'activation_sparsity_pattern' has an entry that is not from 0 to 1");
    }
    settings.gate_cutoffs.emplace_back();
    if (share > 0) settings.gate_cutoffs.back() = static_cast<float>(normal_quantile(share));
  }
}

double cap(const ConfigReader& config, const ForwardRules& rules, const std::string& key, double by_default) {
  if (!rules.caps) return 0;
  if (config.is_null(key)) return 0;
  return config.positive({key}).value_or(by_default);
}

// "image_size": 224 or [height, width]; timm: input_size [channels, height, width].
void image_size(const ConfigReader& config, ForwardSettings& settings) {
  std::vector<std::size_t> sizes;
  const JsonValue timm = config.scope().find("pretrained_cfg").find("input_size");
  const JsonValue stated = timm.is_array() ? timm : config.scope().find("image_size");
  if (stated.is_array()) {
    for (const JsonValue item : stated.items())
      sizes.push_back(static_cast<std::size_t>(item.as_unsigned().value_or(0)));
    if (sizes.size() == 3) sizes.erase(sizes.begin());
  } else if (const auto one = config.size({"image_size"})) {
    sizes = {*one, *one};
  }
  if (sizes.size() != 2) return;
  settings.image_height = sizes[0];
  settings.image_width = sizes[1];
}

// "patch_size": 16, or [height, width], which only models with a convolution have.
std::size_t patch_side(const ConfigReader& config) {
  constexpr std::size_t kMax = 4096;
  if (config.scope().find("patch_size").is_array()) return 0;
  return std::min(config.size({"patch_size"}).value_or(0), kMax);
}

void set_patch_windows(const ConfigReader& config, const FamilyMatch& match, const HeadSizes& sizes,
                       ForwardSettings& settings) {
  const ForwardRules& rules = match.family->forward;
  if (rules.patch_windows == PatchWindowLayers::kNone) return;
  const std::size_t stage = std::min<std::size_t>(match.stage.value_or(0), 16);
  const std::size_t token = settings.patch_side << stage;  // pixels along a side of a token
  const std::size_t shortest = std::min(settings.image_height, settings.image_width) / std::max<std::size_t>(token, 1);
  settings.patch_windows = patch_windows(config, rules.patch_windows, sizes.layers, shortest);
  settings.trained_window = trained_window(config, stage);
}

Pooling pooling(const ConfigReader& config, const ForwardRules& rules) {
  auto word = config.word({"global_pool"});
  if (const auto inner = config.inside(config.scope().find("model_args")).word({"global_pool"})) word = inner;
  if (!word || *word == "token") return rules.pooling;
  if (*word == "avg") return Pooling::kMean;
  config.unsupported(fmt::format("pooling '{}'", printable(*word)));
}

ForwardSettings from_config(const Checkpoint& checkpoint, const FamilyMatch& match, const HeadSizes& sizes) {
  const ForwardRules& rules = match.family->forward;
  const ConfigReader config(checkpoint, match.config);
  const bool is_paligemma = checkpoint.config().find("model_type").as_string() == "paligemma";
  reject_relatives(checkpoint, match);
  ForwardSettings settings;
  settings.activation = activation(config, rules);
  settings.epsilon = config.positive(rules.epsilon_keys).value_or(rules.epsilon);
  settings.parallel = rules.parallel;
  if (!rules.parallel_key.empty()) settings.parallel = config.boolean(rules.parallel_key).value_or(rules.parallel);

  const double width = rules.query_scalar > 0 ? config.positive({"query_pre_attn_scalar"}).value_or(rules.query_scalar)
                                              : static_cast<double>(sizes.width(Role::kQ));
  const bool scaled = !rules.unscaled && config.boolean("scale_attn_weights").value_or(true);
  settings.score_scale = scaled ? 1 / std::sqrt(width) : 1;
  set_factors(config, rules, settings);
  settings.scale_by_layer = config.boolean("scale_attn_by_inverse_layer_idx").value_or(false);
  settings.score_cap = cap(config, rules, "attn_logit_softcapping", rules.score_cap);
  // Transformers does not cap PaliGemma's logits, whatever its text model does alone.
  settings.logit_cap = is_paligemma ? 0 : cap(config, rules, "final_logit_softcapping", rules.logit_cap);

  settings.local = windowed(config, rules, sizes.layers);
  // All of PaliGemma's prompt sees all of it, also in layers with a window.
  const std::size_t width_of_window = is_paligemma && !match.causal ? 0 : window(config, match);
  for (const bool has : settings.local) settings.windows.push_back(has ? width_of_window : 0);
  if (match.position == PositionKind::kRelative) set_distances(config, settings);
  if (match.position == PositionKind::kDisentangled) set_relative(config, sizes, settings);
  settings.rotated = rotated(config, rules, settings.local);
  set_temper(config, rules, settings);
  set_factors_by_place(config, rules, settings);
  set_side_streams(config, rules, sizes.layers, settings);
  set_rotary(config, match, sizes, settings);
  settings.alibi_max = config.positive({"attn_config.alibi_bias_max"}).value_or(8);
  if (rules.token_dropout && config.boolean("token_dropout").value_or(false)) {
    settings.dropped_token = config.size({"mask_token_id"});
  }

  settings.position_offset = rules.position_offset;
  if (rules.positions_skip_padding) {
    settings.padding = config.size({"pad_token_id"}).value_or(1);
    settings.position_offset = *settings.padding + 1;
  }
  settings.scaled_embedding = rules.scaled_embedding;
  if (!rules.scaled_embedding_key.empty()) {
    settings.scaled_embedding = config.boolean(rules.scaled_embedding_key).value_or(false);
  }
  if (match.position == PositionKind::kSinusoidal) {
    settings.positions = config.size({"max_position_embeddings"}).value_or(settings.positions);
  }
  if (match.position == PositionKind::kDistanceBias) {
    settings.bias_distance = config.size({"relative_attention_max_distance"}).value_or(settings.bias_distance);
  }
  if (rules.scaled_output &&
      config.boolean("scale_decoder_outputs").value_or(config.boolean("tie_word_embeddings").value_or(true))) {
    settings.logit_factor /= std::sqrt(static_cast<double>(sizes.d_model));
  }
  settings.final_norm = !config.boolean("_remove_final_layer_norm").value_or(false);
  settings.pooling = pooling(config, rules);
  if (!rules.mean_pooling_key.empty() && config.boolean(rules.mean_pooling_key).value_or(true)) {
    settings.pooling = Pooling::kMean;
    settings.final_norm = false;
  }
  image_size(config, settings);
  settings.patch_side = match.family->modality == Modality::kImage ? patch_side(config) : 0;
  set_patch_windows(config, match, sizes, settings);
  return settings;
}

}  // namespace

std::vector<bool> rotated_layers(const ConfigReader& config, const Family& family, std::size_t layers) {
  return rotated(config, family.forward, windowed(config, family.forward, layers));
}

ForwardSettings forward_settings(const Checkpoint& checkpoint, const FamilyMatch& match, const HeadSizes& sizes) {
  ForwardSettings settings =
      checkpoint.is_gguf() ? gguf_settings(checkpoint, match, sizes) : from_config(checkpoint, match, sizes);
  reject_unmasked(checkpoint, match, settings.windows);
  return settings;
}

}  // namespace headscope
