#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/forward/forward.h"
#include "headscope/model/model.h"
#include "headscope/organize/questionnaire.h"

namespace headscope {

struct HeadStructureOptions {
  QuestionnaireOptions questionnaire = {};
  std::size_t max_inputs = 8;  ///< Only the first `max_inputs` inputs are used.
  std::size_t skip_first = 0;  ///< Number of leading tokens to leave out (attention sinks).
};

/// What a model's attention patterns on some inputs say about its query heads, in layer order. All values are means
/// over the inputs.
struct HeadStructure {
  std::size_t inputs = 0;
  /// ||c||_1 / ||c||_2 of a head's bi-Haar coefficients without the constant, divided by its maximum, the square root
  /// of the number of coefficients: how many coefficients it takes to describe what the head looks at (OA, arXiv
  /// 2506.15541).
  std::vector<double> information;
  /// [head, head]: the fraction of all heads in the smallest folder of the head tree that contains both; 0 on the
  /// diagonal.
  DoubleMatrix tree_distance;
  /// [head, head]: EMD divided by its median (-ln of the affinity that the tree was built from); separates heads that
  /// the tree does not.
  DoubleMatrix distance;
};

/// Runs the model on every input, collects the patterns of all heads, organizes them (`organize`) and derives the
/// measures above.
///
/// Memory: the patterns of one input plus what `organize` needs, together at most the budget; patterns are never
/// written to disk. Not collective: the calling rank does all the work.
///
/// \throws Error  kInvalidArgument if there are no inputs; kResource if the maps of one input exceed the budget,
///                checked before the model is run; otherwise as `run_forward` and `organize`.
[[nodiscard]] HeadStructure measure_head_structure(const Model& model, std::span<const ModelInput> inputs,
                                                   const HeadStructureOptions& options = {},
                                                   const Context& context = {});

}  // namespace headscope
