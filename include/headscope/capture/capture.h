#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "headscope/capture/forward.h"
#include "headscope/capture/inputs.h"
#include "headscope/io/run_folder.h"
#include "headscope/model/head_id.h"

namespace headscope {

struct CaptureOptions {
  bool pattern = true;
  bool scores = true;
  bool output = true;
  RunFloat element = RunFloat::kF32;  ///< Of the maps; the output is always float32.
  std::vector<HeadId> heads = {};     ///< Query heads, ascending; all if empty.
  std::size_t first_query = 0;
  std::size_t last_query = std::numeric_limits<std::size_t>::max();  ///< One past it.
  std::vector<HeadReplacement> replacements = {};
  std::size_t memory = std::size_t{2} << 30;
  std::function<void(double)> progress = {};
};

/// What one head's pattern looks like, over all inputs and queries that were kept.
struct HeadAttention {
  HeadId head;
  double entropy = 0;   ///< Mean of -sum A ln A over queries, in nats.
  double first = 0;     ///< Mean attention on the first token.
  double itself = 0;    ///< Mean attention on the query's own token.
  double previous = 0;  ///< Mean attention on the token before, over queries that have one.
};

/// What was captured of one input.
struct CapturedInput {
  std::string folder;  ///< Inside the RUN: "" for the first, "inputs/1/" and so on for the others.
  std::size_t tokens = 0;
  std::size_t queries = 0;
  /// The likeliest outputs at the last token (or of the image), as index and probability, best first; at most 5. Empty
  /// for models without a head, or where the output was not asked for.
  std::vector<std::pair<std::size_t, double>> likeliest = {};
};

struct CaptureResult {
  std::vector<HeadId> heads;
  std::vector<CapturedInput> inputs;
  std::vector<HeadAttention> attention;  ///< One a head; empty if patterns were not asked for.
  std::size_t bytes = 0;                 ///< Of maps and outputs on disk.
};

/// Runs the model on the inputs and adds to the RUN, for each: pattern.npy and scores.npy [head, query, key],
/// tokens.json, output.npy (logits [token, vocabulary], class logits, or the last hidden state). The first input's
/// files lie at the top, those of input i in inputs/i/. attention.csv sums up every head.
///
/// Maps go to the files as they are computed; no map is ever held whole.
///
/// \throws Error  as `run_forward`; kInvalidArgument if a head does not exist or no query is left; kResource if the
/// disk
///                has no room for the maps, before anything is computed.
[[nodiscard]] CaptureResult capture(const Model& model, std::span<const DescribedInput> inputs, RunFolder& run,
                                    const CaptureOptions& options = {});

}  // namespace headscope
