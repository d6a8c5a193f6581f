#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
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

/// What is known of a model from its headers alone.
struct ModelInfo {
  std::string family;
  /// The family is one that was asked for and not what the files say: results differ, though the fingerprint does not.
  bool family_overridden = false;
  HeadSizes sizes;
  std::vector<DType> dtypes;  ///< Of the heads' tensors, each once.
  Modality modality = Modality::kText;
  bool causal = true;
  NormKind norm = NormKind::kLayerNorm;
  NormOrder order = NormOrder::kPre;
  PositionKind position = PositionKind::kLearned;
  std::array<bool, 4> biases = {};   ///< By Role.
  std::string embedding;             ///< Tensor of the token embedding; empty if there is none.
  std::string unembedding;           ///< The same tensor as the embedding where the two are tied.
  std::vector<std::string> used;     ///< Tensors that an analysis of the heads reads.
  std::vector<std::string> ignored;  ///< All others in the file.
  std::vector<std::string> missing;  ///< Tensors the family has and the file lacks.
  std::vector<std::string> notes;    ///< What the configuration left to be found out.
};

/// How a model is opened.
struct ModelOptions {
  /// Branch, tag or commit of a model in the Hugging Face cache; empty for main.
  std::string revision = {};
  /// Name of a known family, whatever `model_type` or `general.architecture` says; empty to go by those.
  std::string family = {};
};

/// A model on disk whose heads can be asked for.
class Model {
 public:
  /// Reads headers and configuration; no weight is touched. `model` is a path or the name of a model in the Hugging
  /// Face cache, as `find_model` reads it.
  ///
  /// \throws Error  as `find_model` and `Checkpoint::open`; kUnsupported for an unknown family or a
  ///                quantization that is not decoded; kInvalidArgument for an unknown family in the options; kFormat if
  ///                a tensor's shape contradicts the configuration. A missing tensor is no error here.
  [[nodiscard]] static Model open(const std::filesystem::path& model, const ModelOptions& options = {});
  /// The same of a checkpoint that is there already, e.g. in memory.
  [[nodiscard]] static Model of(Checkpoint checkpoint, std::string_view family = {});

  [[nodiscard]] const ModelInfo& info() const noexcept { return info_; }
  [[nodiscard]] const Checkpoint& checkpoint() const noexcept { return checkpoint_; }
  /// Where the heads lie in the files.
  [[nodiscard]] const HeadMap& head_map() const noexcept { return map_; }

  /// How the role's matrices of that layer are stored.
  /// \throws Error  kInvalidArgument if there is no such layer, kFormat if the file lacks the tensor.
  [[nodiscard]] DType stored_type(std::size_t layer, Role role) const;

  /// The matrices of one role of one layer. Includes the per-channel scale on O
  /// where the family has one, whatever the processing.
  ///
  /// Reads the role's bytes once; holds them as floats and nothing else. Give the last layer's back as `recycled` and
  /// its memory is used again, which takes a third of the time: the rest goes into new pages.
  ///
  /// \throws Error  kInvalidArgument if there is no such layer, kFormat if the
  ///                file lacks the tensor, kNumeric if it holds a NaN or an infinity,
  ///                which is named with its index.
  [[nodiscard]] HeadWeights load_heads(std::size_t layer, Role role,
                                       WeightProcessing processing = WeightProcessing::kFolded,
                                       HeadWeights recycled = {}) const;

  /// The layer's weights are not needed at the moment: the pages of the files they lie in stop counting as
  /// this process's memory. Loading them again works as before.
  void release_layer(std::size_t layer) const;

  /// Q, K, V and O of one layer, by Role. A tensor that holds several of them is read once.
  /// Memory of `recycled` is used again.
  /// \throws Error  as `load_heads`.
  [[nodiscard]] std::array<HeadWeights, 4> load_layer(std::size_t layer,
                                                      WeightProcessing processing = WeightProcessing::kFolded,
                                                      std::array<HeadWeights, 4> recycled = {}) const;

 private:
  [[nodiscard]] const LayerTensors& layer_tensors(std::size_t layer) const;
  void check_complete(std::size_t layer, Role role, WeightProcessing processing) const;
  void load_roles(std::size_t layer, std::span<const Role> roles, WeightProcessing processing,
                  std::array<HeadWeights, 4>& weights) const;
  void process(HeadWeights& weights, const LayerTensors& tensors, WeightProcessing processing) const;

  Model(Checkpoint checkpoint, ModelInfo info, HeadMap map)
      : checkpoint_(std::move(checkpoint)), info_(std::move(info)), map_(std::move(map)) {}

  Checkpoint checkpoint_;
  ModelInfo info_;
  HeadMap map_;
};

}  // namespace headscope
