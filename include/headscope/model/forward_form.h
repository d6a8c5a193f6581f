#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headscope {

/// The nonlinearity of an MLP.
enum class Activation {
  kRelu,
  kGelu,       ///< x Phi(x), by the error function.
  kGeluTanh,   ///< Its approximation by tanh (gelu_new).
  kQuickGelu,  ///< x sigmoid(1.702 x).
  kSilu,       ///< x sigmoid(x).
  kTanh,
};

/// The tensors of a block's MLP: down(act(up x)), or down(act(gate x) * up x).
struct MlpNames {
  std::string up = {};
  std::string gate = {};
  std::string down = {};
  /// `up` holds both: the gate's rows, then its own.
  bool fused = false;
};

/// Names of what a forward pass reads besides the heads' own matrices. Those of tensors that are not a
/// module's weight and bias are whole names and say so. A name left empty stands for nothing to be done.
struct ForwardNames {
  // Into the residual stream.
  std::string positions = {};             ///< Whole name of the table of learned positions.
  std::string token_types = {};           ///< Whole name; its first row is added to every token.
  std::string patches = {};               ///< The convolution that makes tokens of an image.
  std::vector<std::string> leading = {};  ///< Whole names of tokens before the patches, some of them optional.
  std::string registers = {};             ///< Whole name of tokens that come after those and have no position.
  std::string embedding_norm = {};        ///< Norm of the embedded tokens.
  std::string project_in = {};            ///< From the embedding's width to the stream's, where they differ.
  std::string project_out = {};           ///< And back.

  // A block. What the heads read is in Layout.
  std::string k_norm = {};                ///< Norm over a key's components; the query's is in Layout.
  std::string norm_after_attention = {};  ///< Pre-norm: of what attention writes. Post-norm: of the sum.
  std::string mlp_norm = {};              ///< What the MLP reads through; the heads' norm if empty.
  std::string norm_after_mlp = {};        ///< As norm_after_attention.
  std::vector<MlpNames> mlp = {};         ///< Forms found in files; empty: no forward pass for this layout.
  std::string mlp_scale = {};             ///< Whole name of a per-channel factor on what the MLP writes.

  // Out of the residual stream. These stand with or without the prefix.
  std::string final_norm = {};
  std::string transform = {};         ///< Linear map and activation before the unembedding (BERT) ...
  std::string transform_norm = {};    ///< ... and the norm after it.
  std::string unembedding_bias = {};  ///< Whole name.
  bool no_unembedding = false;        ///< The format leaves the language model's head out.
  /// Forms of an image classifier, each one module, or two whose mean it is.
  std::vector<std::vector<std::string>> classify = {};

  /// Whole names that tell a relative whose arithmetic is another: with any of them there is no forward pass.
  std::vector<std::string> never_has = {};
};

/// Which layers attend to the last `sliding_window` tokens only.
enum class Windows {
  kNone,
  kAll,            ///< Where the configuration names a window.
  kFromLayer,      ///< From `max_window_layers` on, if `use_sliding_window`.
  kEveryOther,     ///< Layers 0, 2, 4, ...
  kAllButEveryNth  ///< All but the last of every `sliding_window_pattern` layers.
};

/// What an image classifier looks at.
enum class Pooling {
  kFirst,         ///< The class token; with two classifiers the second looks at the second token.
  kMean,          ///< The mean of the patches.
  kFirstAndMean,  ///< Both, one after the other.
};

/// How a family computes, where that is not a matter of names: what its configuration class assumes, and which keys
/// of config.json say otherwise, tried in turn.
struct ForwardRules {
  std::vector<std::string> activation_keys = {"hidden_act"};
  Activation activation = Activation::kGelu;
  bool exact_gelu_before_unembedding = false;  ///< RoBERTa's head has its own activation.
  std::vector<std::string> epsilon_keys = {"layer_norm_eps"};
  double epsilon = 1e-5;

  bool parallel = false;          ///< Attention and MLP both read the stream as it was before the block.
  std::string parallel_key = {};  ///< Config key that says so.
  bool scaled_embedding = false;  ///< Embeddings times sqrt(d_model).
  double query_scalar = 0;  ///< Scores are divided by sqrt(query_pre_attn_scalar), this by default; 0: by sqrt(d_head).
  double score_cap = 0;     ///< attn_logit_softcapping by default; 0: none, and the key is not read.
  double logit_cap = 0;     ///< final_logit_softcapping.
  bool caps = false;        ///< Whether the family knows those two keys.
  Windows windows = Windows::kNone;
  double window = 0;  ///< sliding_window by default.

  std::size_t position_offset = 0;      ///< Row of the first position in the table of learned ones.
  bool positions_skip_padding = false;  ///< RoBERTa: positions count tokens other than `pad_token_id`, from it + 1 on.

  std::vector<std::string> rotary_base_keys = {"rope_theta"};
  double rotary_base = 10000;
  double local_rotary_base = 0;  ///< In layers with a window; 0: the same.
  std::vector<std::string> rotary_share_keys = {"partial_rotary_factor"};
  double rotary_share = 1;       ///< Of a head's components that turn.
  std::size_t rotary_width = 0;  ///< Or their number, by default: GPT-J's `rotary_dim`.

  Pooling pooling = Pooling::kFirst;
  bool interpolated_positions = false;  ///< Other image sizes stretch the table of positions (DINOv2).
};

}  // namespace headscope
