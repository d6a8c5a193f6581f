#include "model/rotary_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headscope/base/error.h"

namespace headscope {
namespace {

// One object of parameters; falls back to the top level of the configuration.
class Parameters {
 public:
  Parameters(const ConfigReader& config, JsonValue scope) : config_(config), inner_(config.inside(scope)) {}

  [[nodiscard]] std::optional<double> positive(const std::vector<std::string>& keys) const {
    if (const auto value = inner_.positive(keys)) return value;
    return config_.positive(keys);
  }
  [[nodiscard]] const ConfigReader& inner() const { return inner_; }

 private:
  const ConfigReader& config_;
  ConfigReader inner_;
};

RotaryScaling scaling_kind(const ConfigReader& inner, const Family& family) {
  const std::string_view kind = inner.word({"rope_type", "type"}).value_or("default");
  // Text alone has the same position in all three sections of Qwen-VL's rotary positions.
  if (kind == "default" || kind == "none" || kind == "mrope") return RotaryScaling::kNone;
  if (kind == "linear" || kind == "proportional") return RotaryScaling::kLinear;
  if (kind == "dynamic") return RotaryScaling::kDynamic;
  if (kind == "llama3") return RotaryScaling::kLlama3;
  // Early Phi-3 files call long rope "su", or "yarn", meaning the same.
  if (kind == "longrope" || kind == "su" || (kind == "yarn" && family.name == "phi3")) return RotaryScaling::kLongRope;
  if (kind == "yarn") return RotaryScaling::kYarn;
  inner.unsupported(fmt::format("rotary scaling '{}'", printable(kind)));
}

double amplitude(const ConfigReader& inner, const Rotary& rotary) {
  if (rotary.scaling != RotaryScaling::kYarn && rotary.scaling != RotaryScaling::kLongRope) return 1;
  if (const auto stated = inner.positive({"attention_factor"})) return *stated;
  if (rotary.scaling == RotaryScaling::kLongRope) {
    return rotary.factor <= 1 ? 1 : std::sqrt(1 + std::log(rotary.factor) / std::log(rotary.trained_length));
  }
  const auto m = inner.positive({"mscale"});
  const auto all = inner.positive({"mscale_all_dim"});
  if (m && all) return yarn_amplitude(rotary.factor, *m) / yarn_amplitude(rotary.factor, *all);
  return yarn_amplitude(rotary.factor);
}

void set_scaling(const ConfigReader& config, const Parameters& parameters, const Family& family, Rotary& rotary) {
  const ConfigReader& inner = parameters.inner();
  rotary.scaling = scaling_kind(inner, family);
  if (rotary.scaling == RotaryScaling::kNone) return;
  const double longest = config.positive({"max_position_embeddings", "n_positions"}).value_or(2048);
  rotary.trained_length = longest;
  if (rotary.scaling != RotaryScaling::kDynamic) {
    // Phi-3 stores it at the top level of the configuration, which takes precedence.
    const auto outer = config.positive({"original_max_position_embeddings"});
    rotary.trained_length = outer ? *outer : inner.positive({"original_max_position_embeddings"}).value_or(longest);
  }
  rotary.factor = inner.positive({"factor"}).value_or(longest / rotary.trained_length);
  rotary.low_frequency = inner.positive({"low_freq_factor"}).value_or(rotary.low_frequency);
  rotary.high_frequency = inner.positive({"high_freq_factor"}).value_or(rotary.high_frequency);
  rotary.beta_fast = inner.positive({"beta_fast"}).value_or(rotary.beta_fast);
  rotary.beta_slow = inner.positive({"beta_slow"}).value_or(rotary.beta_slow);
  rotary.whole_ramp = inner.boolean("truncate").value_or(true);
  rotary.short_factors = inner.numbers("short_factor");
  rotary.long_factors = inner.numbers("long_factor");
  rotary.amplitude = amplitude(inner, rotary);
  rotary.long_amplitude = rotary.amplitude;
  if (rotary.scaling != RotaryScaling::kLongRope) return;
  rotary.amplitude = inner.positive({"short_mscale"}).value_or(rotary.amplitude);  // Phi-MoE
  rotary.long_amplitude = inner.positive({"long_mscale"}).value_or(rotary.long_amplitude);
}

// The number of rotated components, if it is stated as such; 0 if not.
std::size_t stated_width(const ConfigReader& config, const ForwardRules& rules) {
  return rules.rotary_dim ? config.size({"rotary_dim"}).value_or(rules.rotary_width) : 0;
}

double default_base(const ConfigReader& config, const ForwardRules& rules) {
  const std::string_view type = config.word({"model_type"}).value_or("");
  for (const auto& [name, base] : rules.rotary_bases) {
    if (name == type) return base;
  }
  return rules.rotary_base;
}

Rotary rotary_from(const ConfigReader& config, const FamilyMatch& match, const HeadSizes& sizes, JsonValue scope,
                   const std::vector<std::string>& base_keys, double base, std::size_t head_width) {
  const ForwardRules& rules = match.family->forward;
  const Parameters parameters(config, scope);
  Rotary rotary;
  rotary.interleaved = match.position == PositionKind::kRotaryInterleaved;
  rotary.base = parameters.positive(base_keys).value_or(base);
  if (sizes.d_rotary > 0) {
    rotary.first = sizes.d_key;
    rotary.width = sizes.d_rotary;
    rotary.interleaved = config.boolean("rope_interleave").value_or(rotary.interleaved);
  } else if (const std::size_t width = stated_width(config, rules); width > 0) {
    rotary.width = width;
  } else {
    const double share = parameters.positive(rules.rotary_share_keys).value_or(rules.rotary_share);
    if (share > 1)
      config.malformed(fmt::format("rotary positions rotate a share of {} of a head, expected at most 1", share));
    const std::size_t head = head_width > 0 ? head_width : sizes.width(Role::kK);
    rotary.width = static_cast<std::size_t>(share * static_cast<double>(head));
    if (parameters.inner().word({"rope_type", "type"}) == "proportional") {  // frequencies as of the whole head
      rotary.turning = std::max<std::size_t>(rotary.width / 2, 1);
      rotary.width = head;
    }
  }
  // HunYuan: "dynamic" with an alpha is another base, whatever the length.
  const bool dynamic = parameters.inner().word({"rope_type", "type"}).value_or("") == "dynamic";
  if (const auto alpha = parameters.inner().positive({"alpha"}); dynamic && alpha && rotary.width > 2) {
    const auto width = static_cast<double>(rotary.width);
    rotary.base *= std::pow(*alpha, width / (width - 2));
    return rotary;
  }
  set_scaling(config, parameters, *match.family, rotary);
  return rotary;
}

// Width of the heads of layers with or without a window, if layers differ; 0 if they do not.
std::size_t width_of(const ForwardSettings& settings, const HeadSizes& sizes, bool local) {
  for (std::size_t i = 0; i < std::min(settings.local.size(), sizes.by_layer.size()); ++i) {
    if (settings.local[i] == local) return sizes.width(i, Role::kK);
  }
  return 0;
}

}  // namespace

bool is_rotary(PositionKind kind) noexcept {
  return kind == PositionKind::kRotaryHalf || kind == PositionKind::kRotaryInterleaved;
}

double yarn_amplitude(double factor, double m) {
  return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1;
}

void check_rotary(const Rotary& rotary, const HeadSizes& sizes, const std::string& where) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: {}", where, what));
  };
  const std::size_t most = sizes.d_rotary > 0 ? sizes.d_rotary : sizes.width(Role::kQ);
  if (rotary.width == 0 || rotary.width > most || rotary.width % 2 != 0) {
    fail(fmt::format("rotary positions rotate {} components, expected an even number up to {}", rotary.width, most));
  }
  const bool listed = rotary.scaling == RotaryScaling::kLongRope || rotary.scaling == RotaryScaling::kFactors;
  const bool both = rotary.scaling == RotaryScaling::kLongRope;
  if (listed &&
      (rotary.short_factors.size() != rotary.width / 2 || (both && rotary.long_factors.size() != rotary.width / 2))) {
    fail(fmt::format("rotary scaling has lists of {} and {} factors, expected {}", rotary.short_factors.size(),
                     rotary.long_factors.size(), rotary.width / 2));
  }
  if (rotary.scaling == RotaryScaling::kDynamic && rotary.width <= 2)
    fail("dynamic rotary scaling of one pair of components, expected at least two pairs");
  if (rotary.scaling == RotaryScaling::kLlama3 && rotary.low_frequency >= rotary.high_frequency) {
    fail(fmt::format("low_freq_factor {} is not below high_freq_factor {}", rotary.low_frequency,
                     rotary.high_frequency));
  }
}

void set_rotary(const ConfigReader& config, const FamilyMatch& match, const HeadSizes& sizes,
                ForwardSettings& settings) {
  if (match.position == PositionKind::kRotaryGrid) {
    const ForwardRules& rules = match.family->forward;
    const Parameters parameters(config, config.scope().find("rope_parameters"));
    settings.rotary.base = parameters.positive(rules.rotary_base_keys).value_or(rules.rotary_base);
    settings.rotary.grid = rules.rotary_grid;
    settings.rotary.width = sizes.d_head;
    if (sizes.d_head % 4 != 0) {
      config.malformed(
          fmt::format("heads of {} components, expected a multiple of 4 for rotary positions of rows and "
                      "columns",
                      sizes.d_head));
    }
    return;
  }
  if (!is_rotary(match.position)) return;
  const ForwardRules& rules = match.family->forward;
  const std::string where = config.path();
  const JsonValue now = config.scope().find("rope_parameters");
  const JsonValue before = config.scope().find("rope_scaling");
  const bool by_layer_type = now.find("full_attention").is_object() || now.find("sliding_attention").is_object();
  JsonValue global = by_layer_type ? now.find("full_attention") : now;
  if (!before.is_null()) global = before;
  settings.rotary = rotary_from(config, match, sizes, global, rules.rotary_base_keys, default_base(config, rules),
                                width_of(settings, sizes, false));
  if (global.is_null() && rules.default_scaling > 0) {
    settings.rotary.scaling = RotaryScaling::kLlama3;
    settings.rotary.factor = rules.default_scaling;
    settings.rotary.trained_length = 8192;
  }
  check_rotary(settings.rotary, sizes, where);
  if (rules.yarn_scores && settings.rotary.scaling != RotaryScaling::kNone) {
    const double m = config.inside(global).positive({"mscale_all_dim"}).value_or(0);
    settings.score_scale *= m > 0 ? std::pow(yarn_amplitude(settings.rotary.factor, m), 2) : 1;
  }
  if (rules.growing_queries) {
    settings.query_growth = config.inside(global).positive({"llama_4_scaling_beta"}).value_or(0);
    settings.query_period = settings.rotary.trained_length > 0 ? settings.rotary.trained_length : 1;
  }
  if (rules.local_rotary_base <= 0) return;
  const JsonValue local = now.find("sliding_attention");
  const auto stated = config.inside(local).positive({"rope_theta"});
  const double base =
      stated ? *stated : config.positive(rules.local_rotary_base_keys).value_or(rules.local_rotary_base);
  settings.local_rotary = rotary_from(config, match, sizes, local, {}, base, width_of(settings, sizes, true));
  check_rotary(settings.local_rotary, sizes, where);
}

}  // namespace headscope
