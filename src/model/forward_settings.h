#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headscope/base/patch_windows.h"
#include "headscope/model/family.h"
#include "headscope/model/head_sizes.h"
#include "headscope/model/rotary.h"
#include "model/config_reader.h"
#include "model/find_family.h"

namespace headscope {

/// Factors on the parts of a block that has a state-space model beside attention (Falcon-H1).
struct FactorsByPlace {
  float attention_out = 1;  ///< Also that on what values are made of.
  float gate = 1;
  float mlp_out = 1;
  std::array<float, 5> states = {1, 1, 1, 1, 1};  ///< On [gates | x | B | C | steps].
  float states_out = 1;
};

/// The settings a forward pass takes from a configuration.
struct ForwardSettings {
  Activation activation = Activation::kGelu;
  double epsilon = 0;
  bool parallel = false;
  double score_scale = 1;
  bool scale_by_layer = false;  ///< Scores of layer i are also divided by i + 1.
  double score_cap = 0;
  double clip = 0;
  double branch_factor = 1;
  double embedding_factor = 1;
  double logit_factor = 1;
  FactorsByPlace by_place;
  std::vector<std::optional<float>> gate_cutoffs;  ///< By layer (`NetworkLayer::gate_cutoff`); empty if there are none.
  bool scaled_token_gate = true;  ///< Whether side streams have an output scale (`altup_correct_scale`).
  std::vector<bool> rotated;      ///< By layer: whether queries and keys are rotated.
  double query_growth = 0;
  double query_period = 1;
  double query_shift = 0;
  bool bare_head_norms = false;   ///< Of layers with rotary positions.
  bool absolute = true;           ///< DeBERTa: whether a table of positions is added to the embedding.
  bool relative = false;          ///< Whether there are relative positions ...
  bool relative_keys = false;     ///< ... that queries are compared with ...
  bool relative_queries = false;  ///< ... and keys.
  bool relative_shared = false;   ///< They are projected as the heads' input is.
  bool relative_normed = false;
  std::size_t relative_buckets = 0;
  std::size_t relative_longest = 0;
  double alibi_max = 8;  ///< The slopes are 2^-(i alibi_max / heads).
  std::optional<std::size_t> dropped_token;
  double logit_cap = 0;
  std::vector<std::size_t> windows;  ///< By layer; 0: none.
  std::vector<bool> local;           ///< By layer: whether it is a sliding-window layer, which uses `local_rotary` if
                                     ///< the family has one.
  Rotary rotary;
  Rotary local_rotary;
  std::size_t position_offset = 0;
  std::optional<std::size_t> padding;
  bool final_norm = true;
  bool scaled_embedding = false;    ///< By sqrt(d_model).
  std::size_t positions = 1024;     ///< Of a table of fixed positions.
  std::size_t bias_distance = 128;  ///< Larger distances share a learned bias.
  Pooling pooling = Pooling::kFirst;
  std::vector<PatchWindows> patch_windows;  ///< By layer; empty if there are none.
  std::size_t trained_window = 0;           ///< Side of windows that distances are measured in; 0: the layers' own.
  std::size_t patch_side = 0;               ///< In pixels; 0 if the configuration does not say.
  std::size_t image_height = 0;
  std::size_t image_width = 0;
};

/// Reads the settings from config.json or GGUF metadata.
/// \throws Error  kUnsupported for arithmetic that is not implemented, kFormat for invalid values.
[[nodiscard]] ForwardSettings forward_settings(const Checkpoint& checkpoint, const FamilyMatch& match,
                                               const HeadSizes& sizes);

/// Which layers have rotary positions, in a family that has them.
[[nodiscard]] std::vector<bool> rotated_layers(const ConfigReader& config, const Family& family, std::size_t layers);

}  // namespace headscope
