#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/model/forward_form.h"

namespace headscope {

/// How Q, K and V share tensors. With h the head width, H and K the numbers of query and KV heads:
enum class Fusion {
  kNone,     ///< Three tensors.
  kBlocks,   ///< One tensor, [Q | K | V]: H*h, K*h and K*h along its output axis.
  kPerHead,  ///< One tensor, H blocks of [q | k | v], h each (GPT-NeoX).
};

/// Order of a weight matrix's axes.
enum class Storage {
  kOutIn,  ///< [out, in], as nn.Linear stores it: y = x W^T.
  kInOut,  ///< [in, out], as GPT-2's Conv1D stores it: y = x W.
};

enum class NormKind { kLayerNorm, kRmsNorm };

/// Where the norm stands: before attention reads the residual stream, or after
/// the sum (the BERT family), where nothing can be folded into the heads.
enum class NormOrder { kPre, kPost };

enum class PositionKind {
  kLearned,            ///< A table of embeddings added to the input.
  kLearnedOffset,      ///< The same, but the first position is row 2 (OPT, RoBERTa).
  kRotaryHalf,         ///< Rotary, component i paired with i + n/2.
  kRotaryInterleaved,  ///< Rotary, component 2i paired with 2i + 1.
};

enum class Modality { kText, kImage };

/// Names of a family's tensors. In each, {i} is the layer's number; weights and
/// biases are the module's name plus ".weight" and ".bias".
struct Layout {
  /// What may stand before the names below, most likely first.
  std::vector<std::string> prefixes = {""};
  /// Another prefix is accepted if it is the only one in the file.
  bool other_prefixes = true;
  Fusion fusion = Fusion::kNone;
  Storage storage = Storage::kOutIn;
  std::string q = {};  ///< With a fusion, the tensor of all three.
  std::string k = {};
  std::string v = {};
  std::string o = {};
  std::string norm = {};          ///< The norm whose output Q, K and V read; empty for post-norm families.
  float norm_offset = 0;          ///< Added to the stored gain: 1 for Gemma.
  std::string q_norm = {};        ///< Norm over a head's components, which says how wide a head is.
  std::string output_scale = {};  ///< Whole name of a per-channel factor on what O writes.
  float output_scale_offset = 0;  ///< Added to it: 1 for Gemma.
  bool output_scale_optional = false;
  /// Whole names, any one of which holds the token embedding / unembedding.
  /// They stand with or without the prefix.
  std::vector<std::string> embedding = {};
  std::vector<std::string> unembedding = {};
  /// Tensors (whole names) that tell a relative of the family, which computes something else, apart from it: without
  /// all of the first, or with any of the second, in some layer, the file is refused.
  std::vector<std::string> always_has = {};
  std::vector<std::string> never_has = {};
  ForwardNames forward = {};
};

/// The form llama.cpp's converter gives a family.
struct GgufForm {
  std::string architecture = {};     ///< general.architecture
  std::vector<Layout> layouts = {};  ///< Forms found in files, most common first.
  PositionKind position = PositionKind::kLearned;
  std::string keys = architecture;  ///< What the size keys begin with.
};

/// Where config.json says how large a model is: for each quantity the keys that
/// may hold it, tried in turn.
struct ConfigKeys {
  std::vector<std::string> d_model = {"hidden_size"};
  std::vector<std::string> layers = {"num_hidden_layers"};
  std::vector<std::string> heads = {"num_attention_heads"};
  std::vector<std::string> kv_heads = {"num_key_value_heads"};
  std::vector<std::string> head_dim = {"head_dim"};
};

/// What the family's configuration class assumes where neither config.json nor
/// the tensors answer; 0 for nothing.
struct ConfigDefaults {
  std::size_t heads = 0;
  std::size_t head_dim = 0;
};

/// A model family as a description: names, fusion, axes, norms, scales,
/// position. A new family is one file in src/model/families and one golden case.
struct Family {
  std::string name = {};                      ///< As `inspect` prints it.
  std::vector<std::string> model_types = {};  ///< `model_type` in config.json.
  /// Beginnings of `architectures[0]`, for a config.json without model_type.
  std::vector<std::string> architectures = {};
  /// Object of config.json that describes this part of a multimodal model, if there is one.
  std::string nested_config = {};
  ConfigKeys keys = {};
  ConfigDefaults defaults = {};
  /// Heads by the beginning of timm's `architecture`, longest first, since timm's
  /// config.json does not say.
  std::vector<std::pair<std::string, std::size_t>> heads_by_architecture = {};
  /// Parts of timm's `architecture` that name models of another kind.
  std::vector<std::string> other_architectures = {};
  /// Whether the unembedding is the embedding where config.json does not say.
  bool tied = true;
  Modality modality = Modality::kText;
  bool causal = true;
  NormKind norm = NormKind::kLayerNorm;
  NormOrder order = NormOrder::kPre;
  /// Config key that, when false, makes the family post-norm (OPT-350m).
  std::string pre_norm_key = {};
  PositionKind position = PositionKind::kLearned;
  ForwardRules forward = {};
  std::vector<Layout> layouts = {};  ///< Naming generations, most common first.
  std::optional<GgufForm> gguf = {};
};

/// Every family headscope knows, sorted by name.
[[nodiscard]] std::span<const Family> known_families();

[[nodiscard]] std::string_view to_string(NormKind kind) noexcept;
[[nodiscard]] std::string_view to_string(NormOrder order) noexcept;
[[nodiscard]] std::string_view to_string(PositionKind kind) noexcept;
[[nodiscard]] std::string_view to_string(Modality modality) noexcept;

}  // namespace headscope
