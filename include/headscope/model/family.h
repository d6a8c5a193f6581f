#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/model/forward_form.h"
#include "headscope/model/storage.h"

namespace headscope {

/// How Q, K and V share tensors. Below, h is the head width, H the number of query heads and K the number of KV heads.
enum class Fusion {
  kNone,     ///< Three tensors.
  kBlocks,   ///< One tensor, [Q | K | V]: H*h, K*h and K*h along the output axis.
  kPerHead,  ///< One tensor, H blocks of [q | k | v], each h wide (GPT-NeoX).
  kGrouped,  ///< One tensor, groups of heads, each group like kBlocks (Falcon, CodeGen).
};

enum class NormKind { kLayerNorm, kRmsNorm };

/// Where the norm is applied: to what attention reads from the residual stream (pre), or to the sum after attention
/// (post, the BERT family). In post-norm models nothing can be folded into the heads.
enum class NormOrder { kPre, kPost };

enum class PositionKind {
  kLearned,            ///< A table of position embeddings added to the input.
  kLearnedOffset,      ///< The same, but the first position is row 2 (OPT, RoBERTa).
  kRotaryHalf,         ///< Rotary, component i paired with i + n/2.
  kRotaryInterleaved,  ///< Rotary, component 2i paired with 2i + 1.
  kAlibi,              ///< A head's slope times the distance is added to its scores (ALiBi).
  kRelative,           ///< Scores also compare queries with the distances of the keys (Transformer-XL).
  kNone,
  kDisentangled,  ///< Scores also compare queries and keys with relative positions (DeBERTa).
  kRelativeBias,  ///< Learned positions, and a learned bias of the scores by distance (MPNet).
  kDistanceBias,  ///< That bias alone (T5).
  kSinusoidal,    ///< Sines and cosines of fixed frequencies are added to the input (Marian).
  kRotaryGrid,    ///< Rotary by row and column of a patch (DINOv3, Pixtral).
  kGridBias,      ///< A learned bias of the scores by distance in rows and columns (BEiT); a table may be added, too.
};

/// What the first layer reads. A model with a decoder also takes the text of the target.
enum class Modality { kText, kImage, kAudio };

/// A condition on config.json: the key, which may be "object.key", is true or false.
struct ConfigSwitch {
  std::string key;
  bool value;
  bool by_default;  ///< Value of the key if the configuration omits it.
};

/// Names of latent attention (DeepSeek): Q, K and V are products of two matrices with an RMSNorm between them.
/// Layout::q, k and v then name the second factors; k and v are the same module, which has [K | V] for each head.
struct LatentNames {
  std::string q_down = {};  ///< From the stream to the latent of Q; empty if Q is one matrix.
  std::string q_norm = {};
  std::string kv_down = {};  ///< From the stream to the latent of K and V, and after it to the shared rotary key.
  std::string kv_norm = {};

  [[nodiscard]] bool empty() const noexcept { return kv_down.empty(); }
};

/// Tensor names of a family. In each, {i} is the layer number; weights and biases are named after the module plus
/// ".weight" and ".bias".
struct Layout {
  /// Prefixes that may precede the names below, most likely first.
  std::vector<std::string> prefixes = {""};
  /// Accept another prefix if it is the only one in the file.
  bool other_prefixes = true;
  Fusion fusion = Fusion::kNone;
  Storage storage = Storage::kOutIn;
  std::size_t groups = 0;               ///< kGrouped: number of groups; 0: one per KV head.
  bool value_before_key = false;        ///< kGrouped: the order is [Q | V | K].
  std::size_t kv_heads = 0;             ///< Number of KV heads, if this layout fixes it; 0: as the configuration says.
  std::vector<ConfigSwitch> when = {};  ///< The layout is that of models for which all of these hold.
  std::string q = {};                   ///< If fused, the tensor that holds Q, K and V.
  std::string k = {};
  std::string v = {};
  std::string o = {};
  std::string norm = {};       ///< Norm whose output Q, K and V read; empty if they read the stream itself: in
                               ///< post-norm families, and if only outputs of branches are normalized (OLMo 2).
  std::size_t first_norm = 0;  ///< Layers before this one have no such norm (ModernBERT: 1).
  bool bare_norms = false;     ///< Norms have neither gain nor bias, and no tensors (OLMo).
  float norm_offset = 0;       ///< Added to the stored gain: 1 for Gemma.
  /// Norm over the components of a query head; its size gives the head width. Its gain is [h], or [H, h] if each head
  /// has its own; with {h} in the name there is one such tensor per head.
  std::string q_norm = {};
  bool joint_head_norms = false;  ///< q_norm and k_norm are over all heads together: their gains are [H*h] and [K*h].
  std::string output_scale = {};  ///< Full name of the tensor of per-channel factors on the output of O.
  float output_scale_offset = 0;  ///< Added to it: 1 for Gemma.
  bool output_scale_optional = false;
  bool query_gates = false;  ///< q holds two matrices per head: the query's, then that of a gate (Qwen3-Next).
  LatentNames latent = {};
  /// The layers have heads of different width and number of KV heads, as the tensors say (Gemma 4).
  bool own_sizes = false;
  bool value_is_key = false;  ///< Layers without a tensor for V use what K's gives, before its norm and rotation.
  /// Config key of the number of last layers that have no K and V: they use those of the last layer before them with
  /// the same kind of window (Gemma 3n and 4); empty: none.
  std::string shared_kv_key = {};
  std::size_t shared_kv_layers = 0;  ///< Default of that number.
  /// Only some layers have attention. They are numbered by themselves.
  bool hybrid = false;
  bool one_branch = false;  ///< A layer is attention, a mixer or an MLP, behind one norm (Nemotron-H).
  /// Full names, with or without the prefix; any one of them holds the token embedding / unembedding.
  std::vector<std::string> embedding = {};
  std::vector<std::string> unembedding = {};
  /// Full names of tensors that distinguish the family from relatives that compute something else. A file is rejected
  /// if a tensor of `always_has` occurs in no layer, or a tensor of `never_has` in any layer.
  std::vector<std::string> always_has = {};
  std::vector<std::string> never_has = {};
  ForwardNames forward = {};
  /// Of a model with an encoder and a decoder: this layout describes the encoder, these two the self-attention of the
  /// decoder, with its input and output, and the cross-attention with the MLP that follows it.
  std::vector<Layout> decoder = {};
};

/// How llama.cpp's converter writes a family.
struct GgufForm {
  std::string architecture = {};     ///< general.architecture
  std::vector<Layout> layouts = {};  ///< Forms found in files, most common first.
  PositionKind position = PositionKind::kLearned;
  std::string keys = architecture;  ///< Prefix of the size keys.
  /// Whether llama.cpp reads biases of Q, K, V and O if a file has them, without being told.
  bool optional_biases = false;
  /// Whether the position is kRotaryHalf if `rope.dimension_sections` has two sections (GLM-4).
  bool half_if_sections = false;
};

/// Keys of config.json that may hold each size, tried in order.
struct ConfigKeys {
  std::vector<std::string> d_model = {"hidden_size"};
  std::vector<std::string> layers = {"num_hidden_layers"};
  std::vector<std::string> heads = {"num_attention_heads"};
  std::vector<std::string> kv_heads = {"num_key_value_heads"};
  std::vector<std::string> head_dim = {"head_dim"};
  // Of the decoder, if there are two stacks; if absent, as in the encoder.
  std::vector<std::string> decoder_layers = {"decoder_layers"};
  std::vector<std::string> decoder_heads = {};
};

/// Defaults of the family's configuration class, used if neither config.json nor the tensors give the value; 0 for
/// none.
struct ConfigDefaults {
  std::size_t heads = 0;
  std::size_t head_dim = 0;
};

/// Description of a model family: names, fusion, axes, norms, scales, positions. Adding a family takes one file in
/// src/model/families and one golden case.
struct Family {
  std::string name = {};                      ///< As `inspect` prints it.
  std::vector<std::string> model_types = {};  ///< `model_type` in config.json.
  /// Prefixes of `architectures[0]`, for a config.json without model_type.
  std::vector<std::string> architectures = {};
  /// Suggested first for an unknown model whose names several families fit equally.
  bool typical = false;
  /// Object in config.json that describes this part of a multimodal model, if it is neither `text_config` nor
  /// `vision_config`.
  std::string nested_config = {};
  ConfigKeys keys = {};
  ConfigDefaults defaults = {};
  /// Key of config.json that, when true, gives Q, K, V and O biases; empty if the family's code decides.
  std::string bias_key = {};
  /// Config key of the number of sets of weights that the layers share (ALBERT); empty if each layer has its own.
  std::string weight_sets_key = {};
  /// Why headscope does not run the family; empty if it does.
  std::string no_forward = {};
  /// What `inspect` says about the family, if it needs saying.
  std::string remark = {};
  /// Number of heads by prefix of timm's `architecture`, since timm's config.json does not state it. The first match
  /// counts, so a longer prefix must precede a shorter one.
  std::vector<std::pair<std::string, std::size_t>> heads_by_architecture = {};
  /// Substrings of timm's `architecture` that identify models of another kind.
  std::vector<std::string> other_architectures = {};
  /// Whether the unembedding is tied to the embedding if config.json does not say.
  bool tied = true;
  Modality modality = Modality::kText;
  bool causal = true;
  bool always_causal = false;  ///< Whatever config.json says: the mask is part of attention itself (GPT-Neo).
  NormKind norm = NormKind::kLayerNorm;
  NormOrder order = NormOrder::kPre;
  /// Config key that, when false, makes the family post-norm (OPT-350m).
  std::string pre_norm_key = {};
  PositionKind position = PositionKind::kLearned;
  /// Config key that, when true, makes the positions ALiBi (Falcon).
  std::string alibi_key = {};
  ForwardRules forward = {};
  std::vector<Layout> layouts = {};  ///< Naming generations, most common first.
  std::optional<GgufForm> gguf = {};
};

/// All families headscope knows, sorted by name.
[[nodiscard]] std::span<const Family> known_families();

[[nodiscard]] std::string_view to_string(NormKind kind) noexcept;
[[nodiscard]] std::string_view to_string(NormOrder order) noexcept;
[[nodiscard]] std::string_view to_string(PositionKind kind) noexcept;
[[nodiscard]] std::string_view to_string(Modality modality) noexcept;

}  // namespace headscope
