#include "model/gguf_settings.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/model/read_weights.h"
#include "model/rotary_settings.h"

namespace headscope {
namespace {

class Metadata {
 public:
  Metadata(const Checkpoint& checkpoint, const FamilyMatch& match)
      : checkpoint_(checkpoint), prefix_(match.gguf_keys) {}

  [[nodiscard]] std::optional<GgufValue> find(std::string_view key) const {
    return checkpoint_.metadata(fmt::format("{}.{}", prefix_, key));
  }
  [[nodiscard]] std::optional<double> positive(std::string_view key) const {
    const auto value = find(key);
    if (!value) return std::nullopt;
    const double number = value->as_number().value_or(0);
    if (!std::isfinite(number) || number <= 0) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: '{}.{}' is not a positive number", path(), prefix_, key));
    }
    return number;
  }
  // Returns a count; 0 if the key is missing.
  [[nodiscard]] std::size_t size(std::string_view key) const {
    const auto value = find(key);
    constexpr std::uint64_t kMax = 1'000'000'000;
    const auto number = value ? value->as_unsigned() : 0;
    if (!number || *number > kMax) {
      throw Error(ErrorKind::kFormat,
                  fmt::format("{}: '{}.{}' is not an integer from 0 to {}", path(), prefix_, key, kMax));
    }
    return static_cast<std::size_t>(*number);
  }
  [[nodiscard]] std::string path() const { return checkpoint_.path().string(); }

 private:
  const Checkpoint& checkpoint_;
  const std::string& prefix_;
};

// The converter omits query_pre_attn_scalar: it equals the head width except for the 27B models, which llama.cpp
// recognizes by their number of layers.
double score_width(const Family& family, const HeadSizes& sizes) {
  const bool gemma_27b = (family.name == "gemma2" && sizes.layers == 46) ||  //
                         (family.name == "gemma3" && sizes.layers == 62);
  return static_cast<double>(gemma_27b ? sizes.d_model / sizes.heads : sizes.width(Role::kQ));
}

std::vector<double> factors(const Checkpoint& checkpoint, const char* name) {
  const StoredTensor* tensor = checkpoint.find(name);
  if (tensor == nullptr || tensor->shape.size() != 1 || !is_decodable(*tensor)) return {};
  const std::vector<float> values = read_vector(checkpoint, *tensor);
  return {values.begin(), values.end()};
}

void set_scaling(const Checkpoint& checkpoint, const Metadata& metadata, Rotary& rotary) {
  rotary.factor = metadata.positive("rope.scaling.factor").value_or(1);
  rotary.trained_length = metadata.positive("rope.scaling.original_context_length")
                              .value_or(metadata.positive("context_length").value_or(0));
  const auto stated = metadata.find("rope.scaling.type");
  const std::string_view kind = stated ? stated->as_string().value_or("not a string") : "none";
  rotary.short_factors = factors(checkpoint, "rope_factors_short.weight");
  rotary.long_factors = factors(checkpoint, "rope_factors_long.weight");
  const double stated_amplitude = metadata.positive("rope.scaling.attn_factor").value_or(1);
  if (!rotary.long_factors.empty() || kind == "longrope") {
    rotary.scaling = RotaryScaling::kLongRope;
    rotary.amplitude = rotary.long_amplitude = stated_amplitude;
  } else if (const std::vector<double> listed = factors(checkpoint, "rope_freqs.weight"); !listed.empty()) {
    rotary.scaling = RotaryScaling::kFactors;  // Llama 3's scaling, computed by the converter
    rotary.short_factors = listed;
  } else if (kind == "linear") {
    rotary.scaling = RotaryScaling::kLinear;
  } else if (kind == "yarn") {
    rotary.scaling = RotaryScaling::kYarn;
    rotary.beta_fast = metadata.positive("rope.scaling.yarn_beta_fast").value_or(rotary.beta_fast);
    rotary.beta_slow = metadata.positive("rope.scaling.yarn_beta_slow").value_or(rotary.beta_slow);
    const double divided = metadata.positive("rope.scaling.yarn_log_multiplier").value_or(0);
    rotary.amplitude = stated_amplitude * yarn_amplitude(rotary.factor) / yarn_amplitude(rotary.factor, divided);
  } else if (kind != "none") {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: rotary scaling '{}'; headscope cannot run this model, "
                                                     "but relate works",
                                                     metadata.path(), printable(kind)));
  }
}

// Of an image tower (mmproj).
void set_image(const Checkpoint& checkpoint, const Metadata& metadata, ForwardSettings& settings) {
  settings.image_height = settings.image_width = metadata.size("image_size");
  settings.patch_side = metadata.size("patch_size");
  const auto flag = [&](const char* key) {
    const auto value = checkpoint.metadata(key);
    return value ? value->as_bool() : std::nullopt;
  };
  if (flag("clip.use_silu").value_or(false)) settings.activation = Activation::kSilu;
  const auto gelu = flag("clip.use_gelu");
  const bool quick = settings.activation == Activation::kQuickGelu;
  if (gelu && *gelu == quick) settings.activation = quick ? Activation::kGelu : Activation::kQuickGelu;
}

void set_windows(const Metadata& metadata, const Family& family, const HeadSizes& sizes, ForwardSettings& settings) {
  const std::size_t width = metadata.size("attention.sliding_window");
  const std::size_t window = family.causal || width == 0 ? width : width / 2 + 1;
  std::vector<bool> listed;
  const auto pattern = metadata.find("attention.sliding_window_pattern");
  if (pattern && pattern->array_size() == sizes.layers) {
    const auto items = pattern->as_array();
    for (const GgufValue& item : *items) listed.push_back(item.as_bool().value_or(false));
  }
  const std::size_t stated = listed.empty() ? metadata.size("attention.sliding_window_pattern") : 0;
  const std::size_t every = stated > 0 ? stated : family.forward.window_pattern;
  const RotaryLayers rotated = family.forward.rotary_layers;
  for (std::size_t i = 0; i < sizes.layers; ++i) {
    bool has = false;
    if (family.forward.windows == Windows::kAll) has = window > 0;
    if (family.forward.windows == Windows::kEveryOther) has = i % 2 == 0;
    if (family.forward.windows == Windows::kAllButEveryNth) has = (i + 1) % every != 0;
    if (family.forward.windows == Windows::kAllButFirstOfN) has = i % every != 0;
    if (!listed.empty() && family.forward.windows != Windows::kNone) has = listed[i];
    settings.rotated.push_back(rotated == RotaryLayers::kAll ||
                               (rotated == RotaryLayers::kWindowed && (has || width == 0)) ||
                               (rotated == RotaryLayers::kListed && (i + 1) % 4 != 0));
    settings.local.push_back(has);
    settings.windows.push_back(has ? window : 0);
  }
}

}  // namespace

ForwardSettings gguf_settings(const Checkpoint& checkpoint, const FamilyMatch& match, const HeadSizes& sizes) {
  const ForwardRules& rules = match.family->forward;
  const Metadata metadata(checkpoint, match);
  ForwardSettings settings;
  settings.activation = rules.activation;
  settings.epsilon = rules.epsilon;
  for (const char* key : {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"}) {
    if (const auto epsilon = metadata.positive(key)) settings.epsilon = *epsilon;
  }
  settings.parallel = rules.parallel;
  settings.scaled_embedding = rules.scaled_embedding;
  if (const auto stated = metadata.find("use_parallel_residual")) {
    settings.parallel = stated->as_bool().value_or(rules.parallel);
  }
  settings.score_scale = rules.unscaled ? 1 : 1 / std::sqrt(score_width(*match.family, sizes));
  const auto factor = [&](const std::string& family_key, std::string_view key) {
    return family_key.empty() ? 1 : metadata.positive(key).value_or(1);
  };
  settings.embedding_factor = factor(rules.factors.embedding, "embedding_scale");
  settings.branch_factor = factor(rules.factors.branches, "residual_scale");
  settings.logit_factor =
      factor(rules.factors.logits, "logit_scale") / factor(rules.factors.logits_divisor, "logit_scale");
  if (!rules.factors.scores.empty()) {
    settings.score_scale = metadata.positive("attention.scale").value_or(settings.score_scale);
  }
  if (rules.growing_queries) {
    settings.query_growth = metadata.positive("attention.temperature_scale").value_or(0);
    settings.query_period = metadata.positive("rope.scaling.original_context_length").value_or(1);
  }
  if (!rules.clip_key.empty()) settings.clip = metadata.positive("attention.clamp_kqv").value_or(0);
  settings.alibi_max = metadata.positive("attention.max_alibi_bias").value_or(8);
  if (rules.caps) {
    settings.score_cap = metadata.positive("attn_logit_softcapping").value_or(rules.score_cap);
    settings.logit_cap = metadata.positive("final_logit_softcapping").value_or(rules.logit_cap);
  }
  set_windows(metadata, *match.family, sizes, settings);
  settings.pooling = rules.pooling;
  if (match.family->modality == Modality::kImage) set_image(checkpoint, metadata, settings);
  if (!is_rotary(match.position)) return settings;

  Rotary& rotary = settings.rotary;
  rotary.interleaved = match.position == PositionKind::kRotaryInterleaved;
  rotary.base = metadata.positive("rope.freq_base").value_or(rules.rotary_base);
  rotary.width = metadata.size("rope.dimension_count");
  if (rotary.width == 0) rotary.width = sizes.d_head;
  if (sizes.d_rotary > 0) rotary.first = sizes.d_key;
  if (rules.local_rotary_base > 0) {
    settings.local_rotary = rotary;
    const bool same = rules.local_rotary_base == rules.rotary_base;
    settings.local_rotary.base =
        metadata.positive("rope.freq_base_swa").value_or(same ? rotary.base : rules.local_rotary_base);
  }
  rotary.whole_ramp = rules.whole_ramp_in_gguf;
  set_scaling(checkpoint, metadata, rotary);
  if (rules.yarn_scores && rotary.scaling == RotaryScaling::kYarn) {
    // The converter stores a tenth of mscale_all_dim, and takes mscale to be the same: then sines are not scaled.
    const double m = 10 * metadata.positive("rope.scaling.yarn_log_multiplier").value_or(0);
    settings.score_scale *= std::pow(yarn_amplitude(rotary.factor, m), 2);
    rotary.amplitude = m > 0 ? 1 : yarn_amplitude(rotary.factor);
  }
  check_rotary(rotary, sizes, metadata.path());
  return settings;
}

}  // namespace headscope
