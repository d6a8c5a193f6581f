#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/io/checkpoint.h"
#include "headscope/io/dtype.h"
#include "headscope/model/family.h"
#include "headscope/model/head_map.h"
#include "headscope/model/head_sizes.h"
#include "headscope/model/head_weights.h"
#include "headscope/model/weight_processing.h"

namespace headscope {

struct ProcessingSteps;  // model/processing_steps.h

/// What is known about a model from headers and configuration alone.
struct ModelInfo {
  std::string family;
  /// The family was requested by the caller and is not the one the files state: results differ, but the fingerprint
  /// does not.
  bool family_overridden = false;
  std::string tower;  ///< "text" or "vision", if the configuration describes several towers; empty otherwise.
  bool tower_requested = false;           ///< The caller named it.
  std::vector<std::string> other_towers;  ///< That can be opened, too.
  HeadSizes sizes;
  /// Bytes that loading one role of a layer takes besides the result: the factors of composed matrices.
  std::size_t loading_memory = 0;
  std::vector<DType> dtypes;  ///< Distinct types of the heads' tensors.
  Modality modality = Modality::kText;
  bool causal = true;
  NormKind norm = NormKind::kLayerNorm;
  NormOrder order = NormOrder::kPre;
  bool input_norm = true;  ///< Whether attention reads the output of a norm; if not, only outputs are normalized.
  PositionKind position = PositionKind::kLearned;
  std::array<bool, 4> biases = {};   ///< Indexed by Role.
  std::string embedding;             ///< Name of the token embedding tensor; empty if there is none.
  std::string unembedding;           ///< Same tensor as the embedding if the two are tied; empty if there is none.
  std::vector<std::string> used;     ///< Tensors that an analysis of the heads reads.
  std::vector<std::string> ignored;  ///< All others in the file.
  std::vector<std::string> missing;  ///< Names of the family's tensors that the file lacks.
  std::vector<std::string> notes;    ///< Remarks for the user, e.g. values missing from the configuration and where
                                     ///< they were taken from.
};

/// Options for opening a model.
struct ModelOptions {
  /// Branch, tag or commit of a model in the Hugging Face cache; empty for main.
  std::string revision = {};
  /// Name of a known family, which overrides `model_type` or `general.architecture`; empty to use those.
  std::string family = {};
  /// Which transformer of a multimodal checkpoint: "text" or "vision". Empty for the language model, or the image tower
  /// of a model like CLIP.
  std::string tower = {};
};

/// A model on disk, from which heads can be loaded.
class Model {
 public:
  /// Reads headers and configuration; does not touch the weights. `model` is a path or the name of a model in the
  /// Hugging Face cache, as for `find_model`.
  ///
  /// \throws Error  as `find_model` and `Checkpoint::open`; kUnsupported for an unknown family or a quantization that
  ///                is not decoded; kInvalidArgument for an unknown family or tower in the options; kFormat if a
  ///                tensor's shape contradicts the configuration. Not an error: a missing tensor.
  [[nodiscard]] static Model open(const std::filesystem::path& model, const ModelOptions& options = {});
  /// Same for a checkpoint that is already open, e.g. in memory.
  [[nodiscard]] static Model from_checkpoint(Checkpoint checkpoint, std::string_view family = {},
                                             std::string_view tower = {});

  /// Opens another tower, or another stage, of the same files, which both models then share.
  /// \throws Error  as `open`.
  [[nodiscard]] Model of_tower(std::string_view tower) const;

  [[nodiscard]] const ModelInfo& info() const noexcept { return info_; }
  [[nodiscard]] const Checkpoint& checkpoint() const noexcept { return *checkpoint_; }
  /// Location of the heads in the files.
  [[nodiscard]] const HeadMap& head_map() const noexcept { return map_; }

  /// Returns the stored type of the role's matrices in that layer.
  /// \throws Error  kInvalidArgument if there is no such layer, kFormat if the file lacks the tensor.
  [[nodiscard]] DType stored_type(std::size_t layer, Role role) const;

  /// Loads the matrices of one role of one layer. In latent attention (`LatentTensors`) Q, K and V are composed of
  /// their factors, gain of the norm between them included, regardless of `processing`. The per-channel scale on O, if
  /// the family has one, is applied regardless of `processing`.
  ///
  /// Reads the role's bytes once and holds nothing but the result, as floats, and `ModelInfo::loading_memory`. Passing
  /// the previous layer's weights as `recycled` reuses their memory and takes a third of the time; the rest goes into
  /// faulting in new pages.
  ///
  /// \throws Error  kInvalidArgument if there is no such layer, or if it has no K and V of its own; kFormat if the file
  ///                lacks the tensor, kNumeric if it holds a NaN or an infinity; the message gives its index.
  [[nodiscard]] HeadWeights load_heads(std::size_t layer, Role role,
                                       WeightProcessing processing = WeightProcessing::kFolded,
                                       HeadWeights recycled = {}) const;

  /// Loads the rotary key that all heads of a layer share, as one head of role K with sizes.d_rotary columns. It is not
  /// part of what `load_heads` returns as K.
  /// \throws Error  as `load_heads`; kInvalidArgument if the model has none (d_rotary is 0).
  [[nodiscard]] HeadWeights load_rotary_key(std::size_t layer,
                                            WeightProcessing processing = WeightProcessing::kFolded) const;

  /// Hints that the layer's weights are not needed for now: their file pages no longer count toward this process's
  /// memory. The layer can be loaded again as before.
  void release_layer(std::size_t layer) const;

  /// Loads Q, K, V and O of one layer, indexed by Role; K and V are empty if the layer has none of its own. A tensor
  /// that holds several of them is read once. Reuses the memory of `recycled`.
  /// \throws Error  as `load_heads`.
  [[nodiscard]] std::array<HeadWeights, 4> load_layer(std::size_t layer,
                                                      WeightProcessing processing = WeightProcessing::kFolded,
                                                      std::array<HeadWeights, 4> recycled = {}) const;

 private:
  [[nodiscard]] const LayerTensors& layer_tensors(std::size_t layer) const;
  void check_complete(std::size_t layer, Role role, WeightProcessing processing) const;
  void load_roles(std::size_t layer, std::span<const Role> roles, WeightProcessing processing,
                  std::array<HeadWeights, 4>& weights) const;
  void compose_roles(std::size_t layer, std::span<const Role> roles, const ProcessingSteps& steps,
                     std::array<HeadWeights, 4>& weights) const;
  // Factors on the channels of the residual stream, folded into the role's matrices; empty for none.
  [[nodiscard]] std::vector<float> row_factors(const LayerTensors& tensors, Role role, bool gain) const;

  [[nodiscard]] static Model from_shared(std::shared_ptr<const Checkpoint> checkpoint, std::string_view family,
                                         std::string_view tower);
  Model(std::shared_ptr<const Checkpoint> checkpoint, ModelInfo info, HeadMap map)
      : checkpoint_(std::move(checkpoint)), info_(std::move(info)), map_(std::move(map)) {}

  std::shared_ptr<const Checkpoint> checkpoint_;
  ModelInfo info_;
  HeadMap map_;
};

/// \throws Error  kUnsupported if the model has an encoder and a decoder, which `what` does not take.
void require_one_block(const Model& model, std::string_view what);

}  // namespace headscope
