#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/capture/forward.h"
#include "headscope/model/model.h"
#include "headscope/organize/questionnaire.h"

namespace headscope {

struct HeadStructureOptions {
  QuestionnaireOptions questionnaire = {};
  std::size_t most_inputs = 8;  ///< Of those given, the first ones.
  std::size_t skip_first = 0;   ///< Leaves out so many first tokens: attention sinks.
  std::size_t memory = std::size_t{2} << 30;
  /// Called now and then with the share of the work that is done, from the calling thread; may throw to stop.
  std::function<void(double)> progress = {};
};

/// What the attention patterns of a model on some inputs say about its query heads, layer by layer. Means over the
/// inputs.
struct HeadStructure {
  std::size_t inputs = 0;
  /// ||c||_1 / ||c||_2 of a head's bi-Haar coefficients without the constant, over its largest value, the square root
  /// of their number: how many coefficients it takes to say what the head looks at (OA, arXiv 2506.15541).
  std::vector<double> information;
  /// [head, head]: the share of all heads in the smallest folder of the head tree that holds both; 0 on the diagonal.
  DoubleMatrix tree_distance;
  /// [head, head]: EMD over its median (-ln of the affinity the tree was made from), which tells apart what the tree
  /// does not.
  DoubleMatrix distance;
};

/// Runs the model on every input, keeps all heads' patterns, organizes them (`organize`) and reads off the figures.
///
/// Memory: the patterns of one input and what `organize` needs; they are never written anywhere.
///
/// \throws Error  kInvalidArgument if there are no inputs; kResource if one input's maps do not fit the memory, before
///                the model is run; as `run_forward` and `organize` otherwise.
[[nodiscard]] HeadStructure measure_head_structure(const Model& model, std::span<const ModelInput> inputs,
                                                   const HeadStructureOptions& options = {});

}  // namespace headscope
