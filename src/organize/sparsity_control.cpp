#include "headscope/organize/sparsity_control.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headscope {

ControlDraw draw_control(const TensorShare& tensor, RowPermutation kind, const QuestionnaireOptions& questionnaire,
                         std::uint64_t seed, std::size_t draw, const Context& context) {
  const NetworkTensor permuted = permute_rows(tensor, kind, seed, draw);
  const TensorShare control(permuted, tensor.head_names(), tensor.ranks());
  QuestionnaireOptions options = questionnaire;
  options.keep_scores = false;
  options.query_start = {};
  options.key_start = {};
  Organization found = organize(control, options, context);
  SparsityValues figures = measure_figures(control, found.head.tree, found.query.tree, found.key.tree);
  return {std::move(figures), found.head.tree, found.query.tree, found.key.tree};
}

Gain gain_over(double found_l1, std::span<const double> control_l1) {
  if (control_l1.empty()) return {std::nan(""), std::nan(""), std::nan("")};
  if (found_l1 <= 0) return {};
  double sum = 0;
  for (const double one : control_l1) sum += one;
  const auto [low, high] = std::ranges::minmax(control_l1);
  return {sum / static_cast<double>(control_l1.size()) / found_l1, low / found_l1, high / found_l1};
}

}  // namespace headscope
