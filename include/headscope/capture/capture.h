#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "headscope/capture/inputs.h"
#include "headscope/forward/forward.h"
#include "headscope/model/head_id.h"
#include "headscope/run/run_folder.h"

namespace headscope {

struct CaptureOptions {
  bool pattern = true;
  bool scores = true;
  bool output = true;
  bool thumbnail = true;
  RunFloat element = RunFloat::kF32;  ///< Type of the maps; the output is always float32.
  std::vector<HeadId> heads = {};     ///< Query heads, in strictly ascending order; all if empty.
  std::size_t first_query = 0;
  std::size_t end_query = std::numeric_limits<std::size_t>::max();  ///< One past the last query.
  std::vector<HeadReplacement> replacements = {};
};

/// Summary of one head's pattern, over all captured inputs and queries.
struct HeadAttention {
  HeadId head;
  double entropy = 0;   ///< Mean over queries of -sum A ln A, in nats.
  double first = 0;     ///< Mean attention on the first token.
  double itself = 0;    ///< Mean attention on the query's own token. For cross-attention, it and `previous` are 0.
  double previous = 0;  ///< Mean attention on the previous token, over queries that have one.
  double sink = 0;      ///< Mean share of the head's sink, if the family has sinks.
};

/// What was captured for one input.
struct CapturedInput {
  std::string folder;  ///< Inside the RUN folder: "" for the first input, "inputs/1/" and so on for the others.
  TokenCounts tokens = {};
  std::size_t queries = 0;  ///< Rows of the maps; of the target's if there is one.
  /// The most likely outputs at the last token (or for the image), as index and probability, best first; at most 5.
  /// Empty for models without a head, or if the output was not requested.
  std::vector<std::pair<std::size_t, double>> likeliest = {};
};

struct CaptureResult {
  std::vector<HeadId> heads;
  std::vector<CapturedInput> inputs;
  std::vector<HeadAttention> attention;  ///< One per head; empty if patterns were not requested.
  std::size_t bytes = 0;                 ///< Size of maps and outputs on disk.
};

/// Runs the model on the inputs and adds to the RUN, for each input: pattern.npy and scores.npy [head, query, key],
/// tokens.json, output.npy (logits [token, vocabulary], class logits, or the last hidden state). The first input's
/// files are at the top level, those of input i in inputs/i/. Of a model with an encoder and a decoder, the maps of
/// each block and their tokens.json are in a folder of its own: cross/pattern.npy, cross/inputs/1/pattern.npy. For
/// images also thumbnail.npy, if the model's preprocessing is known. For families with sinks also sinks.npy
/// [head, query], with the maps. attention.csv summarizes every head.
///
/// Maps are written to the files as they are computed; no map is ever held whole. The forward pass counts against the
/// memory budget, as in `run_forward`.
///
/// \throws Error  as `run_forward`; kInvalidArgument if there are no inputs, if a head does not exist or is out of
///                order, or if no query is left; kResource if the disk has no room for the maps, before anything is
///                computed.
[[nodiscard]] CaptureResult capture(const Model& model, std::span<const DescribedInput> inputs, RunFolder& run,
                                    const CaptureOptions& options = {}, const Context& context = {});

}  // namespace headscope
