#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/app/command.h"
#include "headscope/app/input_sources.h"
#include "headscope/app/request_parts.h"
#include "headscope/base/ranks.h"
#include "headscope/capture/capture.h"
#include "headscope/capture/inputs.h"
#include "headscope/forward/ablation.h"
#include "headscope/forward/effect.h"
#include "headscope/model/head_id.h"
#include "headscope/model/model.h"
#include "headscope/organize/network_tensor.h"
#include "headscope/run/run_folder.h"

namespace headscope {

/// The attention maps of a model on some inputs.
struct CaptureRequest {
  static constexpr CommandInfo kCommand = {
      .name = "capture",
      .about = "Run the model and keep its attention maps",
      .example = "capture models/gpt2 -o runs/gpt2 --text \"When Mary and John went to the store\""};

  ModelSource model = {};
  InputSources inputs = {};
  TargetSources targets = {};
  std::vector<MapKind> what = {MapKind::kPattern, MapKind::kScores};
  RunFloat dtype = RunFloat::kF32;  ///< Of the maps; the model's output is always float32.
  HeadSelection selection = {};
  std::optional<IndexRange> queries = {};  ///< Rows of the maps; nothing: all.
  bool with_output = true;                 ///< Keep the model's output (logits or hidden state).
  bool thumbnails = true;                  ///< Keep a small copy of each image.
  std::vector<HeadId> ablated = {};        ///< Query heads to leave out; their effect is measured.
  Ablation ablation = Ablation::kZero;
  OutputTarget output = {};
  Resources resources = {};
};
void describe(CaptureRequest& request, OptionList& options);

/// What leaving some heads out does to the model's output on the inputs.
struct AblationEffect {
  std::vector<HeadId> heads;
  Ablation ablation = Ablation::kZero;
  Effect effect;
};

struct CaptureOutcome {
  ModelInfo model;
  std::vector<DescribedInput> inputs;
  CaptureResult result;
  /// Texts of the tokens in `result.inputs[i].likeliest`, by input; empty if the outputs are no tokens or the model has
  /// no vocabulary.
  std::vector<std::vector<std::string>> likeliest_tokens;
  std::optional<AblationEffect> ablation;  ///< If heads were left out.
  RunFiles files;
};

/// Runs the request: opens the model, reads the inputs, measures the ablation, runs the model, writes the results. Maps
/// are written while the model runs and are not part of the outcome: they are in its files. Not collective.
///
/// \throws Error  as `capture`, `EffectMeter`, `read_inputs`, `selected_heads`, `RunFolder`, `Model::open`.
[[nodiscard]] std::optional<CaptureOutcome> run(const CaptureRequest& request, const Context& context = {});

[[nodiscard]] std::string summary(const CaptureOutcome& outcome);
[[nodiscard]] std::string to_json(const CaptureOutcome& outcome);

}  // namespace headscope
