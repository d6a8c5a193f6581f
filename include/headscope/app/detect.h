#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headscope/app/command.h"
#include "headscope/app/request_parts.h"
#include "headscope/capture/detectors.h"
#include "headscope/model/model.h"
#include "headscope/run/run_folder.h"

namespace headscope {

/// What heads attend to on random tokens.
struct DetectRequest {
  static constexpr CommandInfo kCommand = {
      .name = "detect",
      .about = "Which heads look back, copy, repeat: from attention on random tokens",
      .example = "detect models/gpt2 -o runs/gpt2 --labels"};

  ModelSource model = {};
  std::size_t sequences = 32;
  std::size_t length = 64;  ///< Tokens per sequence; even. The second half repeats the first.
  /// Another length at which every head is scored. Not set: twice the length; 0: none.
  std::optional<std::size_t> second_length = {};
  bool bos = true;         ///< Start every sequence with the model's BOS token, if it has one.
  double threshold = 0.4;  ///< A head with at least this score at all lengths counts as detected.
  bool labels = false;     ///< Also write the detected heads as a label file.
  std::size_t seed = 0;
  OutputTarget output = {};
  Resources resources = {};
};
void describe(DetectRequest& request, OptionList& options);

struct DetectOutcome {
  ModelInfo model;
  DetectOptions options;
  double threshold = 0;
  bool has_labels = false;  ///< Whether a label file was requested.
  DetectResult result;
  RunFiles files;
};

/// Runs the request: opens the model, runs it on random sequences, scores its heads, writes the results. Not
/// collective.
///
/// \throws Error  as `detect`, `RunFolder`, `Model::open`.
[[nodiscard]] std::optional<DetectOutcome> run(const DetectRequest& request, const Context& context = {});

/// Adds the files of an outcome to a folder.
void write(const DetectOutcome& outcome, RunFolder& folder);

[[nodiscard]] std::string summary(const DetectOutcome& outcome);
[[nodiscard]] std::string to_json(const DetectOutcome& outcome);

}  // namespace headscope
