#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headscope {

/// The nonlinearity of an MLP.
enum class Activation {
  kRelu,
  kGelu,       ///< x Phi(x), computed with the error function.
  kGeluTanh,   ///< The tanh approximation of GELU (gelu_new).
  kQuickGelu,  ///< x sigmoid(1.702 x).
  kSilu,       ///< x sigmoid(x).
  kTanh,
};

/// The tensors of a block's MLP: down(act(up x)), or down(act(gate x) * up x).
struct MlpNames {
  std::string up = {};
  std::string gate = {};
  std::string down = {};
  /// `up` holds both matrices: the gate's rows first, then its own.
  bool fused = false;
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
  std::string embedding_norm = {};        ///< Norm of the embedded tokens.
  std::string project_in = {};            ///< From the embedding width to d_model, if they differ.
  std::string project_out = {};           ///< From d_model back to the embedding width.

  // A block. What the heads read is in Layout.
  std::string k_norm = {};                ///< Norm over the components of a key head; for queries see Layout::q_norm.
  std::string norm_after_attention = {};  ///< Pre-norm: of the output of attention. Post-norm: of the sum.
  std::string mlp_norm = {};        ///< Norm of the MLP's input; if empty, a parallel block reuses the heads' norm.
  std::string norm_after_mlp = {};  ///< Same as norm_after_attention, for the MLP.
  std::vector<MlpNames> mlp = {};   ///< Forms found in files; empty if this layout has no forward pass.
  std::string mlp_scale = {};       ///< Full name of the tensor of per-channel factors on the MLP's output.

  // Out of the residual stream. These names may occur with or without the prefix.
  std::string final_norm = {};
  std::string transform = {};         ///< Linear map and activation before the unembedding (BERT) ...
  std::string transform_norm = {};    ///< ... and the norm after it.
  std::string unembedding_bias = {};  ///< Full name.
  bool no_unembedding = false;        ///< The format omits the language model's head.
  /// Alternative forms of an image classifier: one module, or two whose outputs are averaged.
  std::vector<std::vector<std::string>> classify = {};

  /// Full names of tensors that mark a relative with different arithmetic: if any is present, there is no forward pass.
  std::vector<std::string> never_has = {};
};

/// Which layers attend to the last `sliding_window` tokens only.
enum class Windows {
  kNone,
  kAll,            ///< All layers, if the configuration specifies a window.
  kFromLayer,      ///< Layers from `max_window_layers` on, if `use_sliding_window` is true.
  kEveryOther,     ///< Layers 0, 2, 4, ...
  kAllButEveryNth  ///< All but the last of every `sliding_window_pattern` layers.
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

  bool parallel = false;          ///< Attention and MLP both read the stream as it was before the block.
  std::string parallel_key = {};  ///< Config key that overrides `parallel`.
  bool scaled_embedding = false;  ///< Embeddings are multiplied by sqrt(d_model).
  double query_scalar = 0;        ///< Default of query_pre_attn_scalar; scores are divided by its square root. 0: by
                                  ///< sqrt(d_head), and the key is not read.
  double score_cap = 0;           ///< Default of attn_logit_softcapping; 0: none.
  double logit_cap = 0;           ///< Default of final_logit_softcapping; 0: none.
  bool caps = false;  ///< Whether the family has these two keys; if not, they are not read and nothing is capped.
  Windows windows = Windows::kNone;
  double window = 0;  ///< Default of sliding_window.

  std::size_t position_offset = 0;      ///< Row of the first position in the table of learned positions.
  bool positions_skip_padding = false;  ///< RoBERTa: positions start at `pad_token_id` + 1 and count only tokens other
                                        ///< than padding.

  std::vector<std::string> rotary_base_keys = {"rope_theta"};
  double rotary_base = 10000;
  double local_rotary_base = 0;  ///< Base in layers with a window; 0: the same base.
  std::vector<std::string> rotary_share_keys = {"partial_rotary_factor"};
  double rotary_share = 1;       ///< Fraction of a head's components that are rotated.
  std::size_t rotary_width = 0;  ///< GPT-J: default of `rotary_dim`, the number of rotated components; 0: use
                                 ///< `rotary_share`.

  Pooling pooling = Pooling::kFirst;
  bool interpolated_positions = false;  ///< The table of positions is interpolated for other image sizes (DINOv2).
};

}  // namespace headscope
