#include "model/forward_settings.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "headscope/base/error.h"
#include "model/config_reader.h"
#include "model/gguf_settings.h"
#include "model/rotary_settings.h"

namespace headscope {
namespace {

constexpr std::array<std::pair<std::string_view, Activation>, 12> kActivations = {{
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
}};

Activation activation(const ConfigReader& config, const ForwardRules& rules) {
  const auto name = config.word(rules.activation_keys);
  if (!name) return rules.activation;
  for (const auto& [known, activation] : kActivations) {
    if (*name == known) return activation;
  }
  config.unsupported(fmt::format("activation '{}'", printable(*name)));
}

// Which layers have a window, according to `layer_types` or the family's rule.
std::vector<bool> windowed(const ConfigReader& config, const ForwardRules& rules, std::size_t layers) {
  std::vector<bool> result(layers);
  const JsonValue types = config.scope().find("layer_types");
  const bool knows_types = rules.windows != Windows::kNone && rules.windows != Windows::kAll;
  if (knows_types && types.is_array()) {
    if (types.size() != layers) {
      config.malformed(fmt::format("'layer_types' has {} entries for {} layers", types.size(), layers));
    }
    std::size_t i = 0;
    for (const JsonValue item : types.items()) {
      const std::string_view type = item.as_string().value_or("not a string");
      if (type != "sliding_attention" && type != "full_attention") {
        config.unsupported(fmt::format("layer type '{}'", printable(type)));
      }
      result[i++] = type == "sliding_attention";
    }
    return result;
  }
  const std::size_t first = config.size({"max_window_layers"}).value_or(28);
  const std::size_t every = std::max<std::size_t>(config.size({"sliding_window_pattern"}).value_or(6), 1);
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
    }
  }
  return result;
}

std::size_t window(const ConfigReader& config, const ForwardRules& rules) {
  if (rules.windows == Windows::kNone) return 0;
  if (rules.windows == Windows::kFromLayer && !config.boolean("use_sliding_window").value_or(false)) return 0;
  // null means no window; a missing key means the default of the configuration class.
  if (config.is_null("sliding_window")) return 0;
  return config.size({"sliding_window"}).value_or(static_cast<std::size_t>(rules.window));
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

Pooling pooling(const ConfigReader& config, const ForwardRules& rules) {
  auto word = config.word({"global_pool"});
  if (const auto inner = config.inside(config.scope().find("model_args")).word({"global_pool"})) word = inner;
  if (!word || *word == "token") return rules.pooling;
  if (*word == "avg") return Pooling::kMean;
  config.unsupported(fmt::format("pooling '{}'", printable(*word)));
}

void reject_relatives(const ConfigReader& config, const Family& family) {
  if (!family.causal && config.boolean("is_decoder").value_or(false)) config.unsupported("'is_decoder' is true");
  if (config.boolean("use_bidirectional_attention").value_or(false)) {
    config.unsupported("'use_bidirectional_attention' is true");
  }
  const auto kind = config.word({"position_embedding_type"});
  if (kind && *kind != "absolute" && family.order == NormOrder::kPost) {
    config.unsupported(fmt::format("position_embedding_type '{}'", printable(*kind)));
  }
}

ForwardSettings from_config(const Checkpoint& checkpoint, const FamilyMatch& match, const HeadSizes& sizes) {
  const ForwardRules& rules = match.family->forward;
  const ConfigReader config(checkpoint, match.config);
  reject_relatives(config, *match.family);
  ForwardSettings settings;
  settings.activation = activation(config, rules);
  settings.epsilon = config.positive(rules.epsilon_keys).value_or(rules.epsilon);
  settings.parallel = rules.parallel;
  if (!rules.parallel_key.empty()) settings.parallel = config.boolean(rules.parallel_key).value_or(rules.parallel);

  const double width = rules.query_scalar > 0 ? config.positive({"query_pre_attn_scalar"}).value_or(rules.query_scalar)
                                              : static_cast<double>(sizes.d_head);
  settings.score_scale = config.boolean("scale_attn_weights").value_or(true) ? 1 / std::sqrt(width) : 1;
  settings.scale_by_layer = config.boolean("scale_attn_by_inverse_layer_idx").value_or(false);
  settings.score_cap = cap(config, rules, "attn_logit_softcapping", rules.score_cap);
  settings.logit_cap = cap(config, rules, "final_logit_softcapping", rules.logit_cap);

  settings.local = windowed(config, rules, sizes.layers);
  const std::size_t width_of_window = window(config, rules);
  for (const bool has : settings.local) settings.windows.push_back(has ? width_of_window : 0);
  set_rotary(config, match, sizes, settings);

  settings.position_offset = rules.position_offset;
  if (rules.positions_skip_padding) {
    settings.padding = config.size({"pad_token_id"}).value_or(1);
    settings.position_offset = *settings.padding + 1;
  }
  settings.final_norm = !config.boolean("_remove_final_layer_norm").value_or(false);
  settings.pooling = pooling(config, rules);
  image_size(config, settings);
  return settings;
}

}  // namespace

ForwardSettings forward_settings(const Checkpoint& checkpoint, const FamilyMatch& match, const HeadSizes& sizes) {
  return checkpoint.is_gguf() ? gguf_settings(checkpoint, match, sizes) : from_config(checkpoint, match, sizes);
}

}  // namespace headscope
