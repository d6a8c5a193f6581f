#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "headscope/model/expert_form.h"
#include "headscope/model/rotary.h"

namespace headscope {

/// The nonlinearity of an MLP.
enum class Activation {
  kRelu,
  kGelu,       ///< x Phi(x), computed with the error function.
  kGeluTanh,   ///< The tanh approximation of GELU (gelu_new).
  kQuickGelu,  ///< x sigmoid(1.702 x).
  kSilu,       ///< x sigmoid(x).
  kTanh,
  kRelu2,  ///< max(x, 0)^2.
};

/// The tensors of a block's MLP: down(act(up x)), or down(act(gate x) * up x).
struct MlpNames {
  std::string up = {};
  std::string gate = {};
  std::string down = {};
  /// `up` holds both matrices: the gate's rows first, then its own.
  bool fused = false;
};

/// What a hybrid's layers without attention have in its place.
enum class MixerKind {
  kConvolution,     ///< A short convolution (LFM2).
  kDelta,           ///< The gated delta rule (Qwen3-Next).
  kSelectiveState,  ///< Mamba (Jamba).
  kGroupedState,    ///< Mamba 2 (Bamba, Granite 4, Nemotron-H).
};

/// Names of a mixer. A mixer has only those of its kind.
struct MixerNames {
  MixerKind kind = MixerKind::kConvolution;
  bool beside_attention = false;                  ///< Each layer has both, which read the same (Falcon-H1).
  std::vector<std::vector<std::string>> in = {};  ///< Forms found in files, each a list of modules.
  std::string kernel = {};                        ///< Module.
  std::string decay = {};                         ///< Full name.
  std::string step_bias = {};                     ///< Full name.
  std::string skip = {};                          ///< Full name.
  std::string norm = {};                          ///< Of the output.
  std::string out = {};
  // Of Mamba: the map to steps, B and C, the norms of the three, and the map from steps to channels.
  std::string select = {};
  std::string step_norm = {};
  std::string write_norm = {};
  std::string read_norm = {};
  std::string step = {};
};

/// Names of the streams beside the one that attention and the MLP read and write (AltUp, arXiv 2301.13310).
struct SideStreamNames {
  // Of side stream {i}: from the embedded tokens to it, and from it to what is averaged in the end.
  std::string in = {};
  std::string out = {};
  // Of a block.
  std::string router = {};
  std::string router_norm = {};
  std::string prediction = {};
  std::string correction = {};
  std::string output_scale = {};  ///< Full name.
};

/// Names of what a forward pass reads besides the heads' own matrices. A name refers to a module with a weight and a
/// bias, unless the comment says that it is the full name of a tensor. An empty name means that there is no such step.
struct ForwardNames {
  // Into the residual stream.
  std::string positions = {};             ///< Full name of the table of learned positions.
  std::string token_types = {};           ///< Full name; the first row is added to every token.
  std::string patches = {};               ///< Convolution that turns an image into tokens.
  std::vector<std::string> leading = {};  ///< Full names of the tokens before the patches; some are optional.
  std::string registers = {};             ///< Full name of the tokens that follow those; they have no position.
  /// Full names of the tables of tokens and their projections to d_model, if each table has some of the tokens, the
  /// frequent ones first; {i} is the number of the table (Transformer-XL).
  std::string embedding_tables = {};
  std::string embedding_projections = {};
  std::vector<std::string> convolutions = {};  ///< Over the time of audio features; each but the first halves it.
  std::string embedding_norm = {};             ///< Norm of the embedded tokens ...
  bool norm_before_positions = false;          ///< ... before positions are added to them.
  std::string project_in = {};                 ///< From the embedding width to d_model, if they differ.
  bool narrow_embedding = false;   ///< Positions, token types and norm have the embedding width, too (ELECTRA).
  std::string relative_bias = {};  ///< kRelativeBias: full name of the table [buckets, heads].
  std::string project_out = {};    ///< From d_model back to the embedding width.

  /// kDisentangled: full name of the table of relative positions, and the norm of its rows.
  std::string relative_table = {};
  std::string relative_norm = {};

  // A block. What the heads read is in Layout.
  bool bare_value_norm = false;           ///< Values are divided by their root mean square, head by head (Gemma 4).
  std::string k_norm = {};                ///< Norm over the components of a key head; for queries see Layout::q_norm.
  std::string norm_after_attention = {};  ///< Pre-norm: of the output of attention. Post-norm: of the sum.
  /// kDisentangled: projections of relative positions to keys and queries, if the heads' own are not used.
  std::string relative_key = {};
  std::string relative_query = {};
  /// Full names of biases of Q and V, if the tensor in which they are fused has none (DeBERTa).
  std::string q_bias = {};
  std::string v_bias = {};
  std::string content_bias = {};   ///< kRelative: full name of what is added to queries that are compared with keys ...
  std::string position_bias = {};  ///< ... and with distances, [heads, d_head].
  std::string mlp_norm = {};       ///< Norm of the MLP's input; if empty, a parallel block reuses the heads' norm.
  bool mlp_norm_if_sequential = false;  ///< A parallel block reuses the heads' norm, although mlp_norm has a name.
  std::string norm_after_mlp = {};      ///< Same as norm_after_attention, for the MLP.
  std::vector<MlpNames> mlp = {};       ///< Forms found in files; empty if this layout has no forward pass.
  /// Embeddings of the tokens for each layer, by name: the full name of the table, and the modules that map the tokens'
  /// embeddings to them and normalize them; then, in a block, the modules of `TokenInput` (Gemma 4).
  std::string token_inputs = {};
  std::string token_projection = {};
  std::string token_norm = {};
  std::string token_gate = {};
  std::string token_out = {};
  std::string token_out_norm = {};
  std::string block_scale = {};  ///< Full name of the tensor with one factor on the stream after the block.
  SideStreamNames side_streams = {};
  // A branch beside attention: norm(out(in(x))) of what attention reads (Laurel).
  std::string low_rank_in = {};
  std::string low_rank_out = {};
  std::string low_rank_norm = {};
  /// xIELU, an activation with weights of its own in every layer: prefix of their full names (Apertus).
  std::string activation_weights = {};
  ExpertNames experts = {};    ///< Of the layers that have a mixture instead.
  std::string mlp_scale = {};  ///< Full name of the tensor of per-channel factors on the MLP's output.
  std::string sinks = {};      ///< Full name of the scores of an extra key, by head (gpt-oss).

  MixerNames mixer = {};

  /// kGridBias: full name of the table [distances and 3, heads] of a layer, or of one that all layers share.
  std::string grid_bias = {};
  std::string shared_grid_bias = {};
  /// The same within windows of patches: full name of the table, or the modules of the MLP that takes its place, and
  /// the full name of factors on the scores (`NetworkLayer::score_factors`).
  std::string window_bias = {};
  std::string window_bias_inner = {};
  std::string window_bias_outer = {};
  std::string score_factors = {};

  // Between two stages: modules of a stage that merge its tokens for the next.
  std::string merging = {};
  std::string merging_norm = {};

  // Out of the residual stream. These names may occur with or without the prefix.
  std::string final_norm = {};
  std::string transform = {};         ///< Linear map and activation before the unembedding (BERT) ...
  std::string transform_norm = {};    ///< ... and the norm after it.
  std::string unembedding_bias = {};  ///< Full name.
  std::string pooled_norm = {};       ///< Norm of the mean of the patches, before an image classifier.
  bool no_unembedding = false;        ///< The format omits the language model's head.
  /// Alternative forms of an image classifier: one module, or two whose outputs are averaged.
  std::vector<std::vector<std::string>> classify = {};

  /// Full names of tensors that mark a relative with different arithmetic: if any is present, there is no forward pass.
  std::vector<std::string> never_has = {};
};

/// Which layers attend to the last `sliding_window` tokens only.
enum class Windows {
  kNone,
  kAll,             ///< All layers, if the configuration specifies a window.
  kFromLayer,       ///< Layers from `max_window_layers` on, if `use_sliding_window` is true.
  kEveryOther,      ///< Layers 0, 2, 4, ...
  kAllButEveryNth,  ///< All but the last of every `sliding_window_pattern` layers.
  kAllButFirstOfN,  ///< All but the first of every `sliding_window_pattern` layers.
  kListed,          ///< Those that `layer_types` or `attention_layers` lists.
  kRotated,         ///< Those with rotary positions (Llama 4).
};

/// Which layers attend within windows of patches.
enum class PatchWindowLayers {
  kNone,
  kShifted,    ///< All, of `window_size` patches a side; those of every second layer are shifted by half (Swin).
  kNotListed,  ///< Those that `fullatt_block_indexes` does not list; `window_size` counts pixels (Qwen2.5-VL).
};

/// A key of config.json and the value it has in every model that headscope runs: "true", "false", a number or a word.
/// The key may be absent or null.
struct UsualValue {
  std::string key;
  std::string value;
};

/// Which layers have rotary positions, in a family that has them.
enum class RotaryLayers {
  kAll,
  kListed,    ///< Those with 1 in `no_rope_layers`, else all but the last of every `no_rope_layer_interval` (SmolLM3).
  kWindowed,  ///< Those with a window (Cohere 2).
  kStated,    ///< All if `position_embedding_type` is "rope", else none (Granite 4).
};

/// Keys of config.json that hold constant factors; an empty key, or one that is absent, means 1.
struct FactorKeys {
  std::string embedding = {};
  std::string scores = {};    ///< Instead of 1/sqrt(d_head).
  std::string branches = {};  ///< On the outputs of attention and MLP.
  std::string logits = {};
  std::string logits_divisor = {};
};

/// What an image classifier reads.
enum class Pooling {
  kFirst,         ///< The class token; a second classifier reads the second token.
  kMean,          ///< The mean of the patches.
  kFirstAndMean,  ///< Both, concatenated.
};

/// How a family computes, apart from names: the defaults of its configuration class, and the keys of config.json that
/// override them, tried in order.
struct ForwardRules {
  std::vector<std::string> activation_keys = {"hidden_act"};
  Activation activation = Activation::kGelu;
  bool exact_gelu_before_unembedding = false;  ///< RoBERTa's head has its own activation.
  std::vector<std::string> epsilon_keys = {"layer_norm_eps"};
  double epsilon = 1e-5;

  bool parallel = false;                  ///< Attention and MLP both read the stream as it was before the block.
  std::string parallel_key = {};          ///< Config key that overrides `parallel`.
  bool scaled_embedding = false;          ///< Embeddings are multiplied by sqrt(d_model).
  std::string scaled_embedding_key = {};  ///< Config key that, when true, has the same effect.
  double query_scalar = 0;  ///< Default of query_pre_attn_scalar; scores are divided by its square root. 0: by
                            ///< sqrt(d_head), and the key is not read.
  double score_cap = 0;     ///< Default of attn_logit_softcapping; 0: none.
  double logit_cap = 0;     ///< Default of final_logit_softcapping; 0: none.
  bool caps = false;        ///< Whether the family has these two keys; if not, they are not read and nothing is capped.
  bool scaled_alibi = false;  ///< ALiBi's slopes are divided by sqrt(d_head), too (Falcon).
  bool unscaled = false;      ///< Scores are not divided by sqrt(d_head) (GPT-Neo).
  std::string clip_key = {};  ///< Limit of the absolute values of queries, keys and values (OLMo, MPT).
  FactorKeys factors = {};
  double logit_factor = 1;  ///< Default of `factors.logits`.
  double score_factor = 0;  ///< Default of `factors.scores`; 0: 1/sqrt(d_head).
  std::vector<UsualValue> usual_values = {};
  /// Logits are divided by sqrt(d_model), unless `scale_decoder_outputs` or `tie_word_embeddings` is false (T5).
  bool scaled_output = false;
  bool token_dropout =
      false;  ///< ESM: mask tokens embed as 0, and embeddings are scaled by the fraction of the others.
  Windows windows = Windows::kNone;
  std::string window_key = "sliding_window";
  std::size_t window_pattern = 6;  ///< Default of sliding_window_pattern.
  double window = 0;  ///< Default of the width. With attention in both directions half of it lies on each side.
  bool windows_switched = false;  ///< There are none unless `use_sliding_window` is true.
  bool chunks = false;            ///< A window is not the last tokens but the query's own chunk (Llama 4).

  std::size_t position_offset = 0;  ///< Row of the first position in the table of learned positions.
  /// The wavelengths of sinusoidal positions end at 10000 times the first one (M2M-100), not before it.
  bool closed_sinusoids = false;
  bool positions_skip_padding = false;  ///< RoBERTa: positions start at `pad_token_id` + 1 and count only tokens other
                                        ///< than padding.

  std::vector<std::string> rotary_base_keys = {"rope_theta"};
  double rotary_base = 10000;
  std::vector<std::pair<std::string, double>> rotary_bases = {};  ///< By `model_type`, where it is another.
  /// Without any parameters in config.json, frequencies are scaled as Llama 3's, from 8192 tokens, by this factor
  /// (Apertus); 0: they are not.
  double default_scaling = 0;
  double local_rotary_base = 0;  ///< Base in layers with a window; 0: the same base.
  std::vector<std::string> local_rotary_base_keys = {"rope_local_base_freq"};
  RotaryLayers rotary_layers = RotaryLayers::kAll;
  /// Scores are multiplied by the square of YaRN's amplitude for `mscale_all_dim`, if that is set (DeepSeek).
  bool yarn_scores = false;
  /// Queries grow with their position: times 1 + b ln(1 + floor(position / trained length)), where b is
  /// `llama_4_scaling_beta` (Ministral 3).
  bool growing_queries = false;
  /// Queries of layers without rotary positions grow: b is `attn_scale`, the length `floor_scale`, and positions count
  /// from 1, unless `attn_temperature_tuning` is false (Llama 4).
  bool tempered_queries = false;
  bool head_norms_last = false;  ///< Queries and keys are normalized after they are rotated (HunYuan).
  /// Queries and keys of layers with rotary positions are divided by their root mean square, unless `use_qk_norm` is
  /// false (Llama 4).
  bool bare_head_norms = false;
  std::vector<std::string> rotary_share_keys = {"partial_rotary_factor"};
  double rotary_share = 1;         ///< Fraction of a head's components that are rotated.
  bool whole_ramp_in_gguf = true;  ///< YaRN: the bounds of the ramp are whole pairs; config.json says it in `truncate`.
  bool rotary_dim = false;         ///< `rotary_dim` may state the number of rotated components (GPT-J).
  std::size_t rotary_width = 0;    ///< Default of `rotary_dim`; 0: use `rotary_share`.

  /// Gates below a quantile, `activation_sparsity_pattern` by layer, are 0; by default that of 0.95 in the first 10 of
  /// more than 10 layers (Gemma 3n).
  bool sparse_gates = false;

  std::size_t state_groups = 1;         ///< Mamba 2: default of `mamba_n_groups` or `n_groups`.
  bool states_normed_by_group = false;  ///< Mamba 2: the norm is over the heads of a group, not over all.
  bool states_normed = true;            ///< Mamba 2: default of `mamba_rms_norm` ...
  bool states_normed_first = false;     ///< ... and of `mamba_norm_before_gate`.
  /// Factors by place: `key_multiplier`, `attention_in_multiplier`, `attention_out_multiplier`, `mlp_multipliers`,
  /// `ssm_in_multiplier`, `ssm_multipliers` and `ssm_out_multiplier` (Falcon-H1).
  bool factors_by_place = false;
  double min_state_step = 0;  ///< Mamba 2: default of `time_step_min`, the least step; 0: it is not read.

  RouterRules router = {};

  Pooling pooling = Pooling::kFirst;
  /// Config key that, when true (the default), makes the pooling kMean and leaves out the final norm (BEiT).
  std::string mean_pooling_key = {};
  PatchWindowLayers patch_windows = PatchWindowLayers::kNone;
  bool merging_norm_last = false;  ///< What merges patches is a linear map, then a norm (Swin v2).
  RotaryGrid rotary_grid = RotaryGrid::kNone;
  /// The table of positions is interpolated linearly for other image sizes, corners on corners (Qwen3-VL).
  bool positions_between_corners = false;
  bool interpolated_positions = false;  ///< The table of positions is interpolated for other image sizes (DINOv2).
};

}  // namespace headscope
