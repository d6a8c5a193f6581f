#include "headscope/organize/questionnaire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>

#include "headscope/base/error.h"
#include "headscope/base/median.h"
#include "headscope/base/memory.h"
#include "headscope/base/parallel.h"
#include "headscope/organize/cosine_affinity.h"
#include "headscope/organize/tensor_haar.h"
#include "organize/broadcast_tree.h"

namespace headscope {
namespace {

PartitionTree tree_of_one() {
  return PartitionTree(std::vector<PartitionTree::Level>{{{0}}});
}

// Prepared slices along each axis: all kept if they fit in memory, otherwise one at a time.
class Distances {
 public:
  Distances(const TensorShare& tensor, const Context& context)
      : tensor_(tensor), engine_(context.tree_distance ? context.tree_distance : cpu_tree_distance()) {
    std::size_t all = 0;
    for (const TensorAxis axis : kTensorAxes) {
      if (tensor.extent(axis) < 2) continue;
      // The maximum over ranks, so that all ranks make the same decision.
      const std::size_t one = tensor.ranks().all_reduce_max(engine_->bytes(tensor, axis));
      require_memory(context, one, fmt::format("organize: computing the distances between {} slices", to_string(axis)));
      all += one;
    }
    keep_ = all <= context.memory;
  }

  DoubleMatrix compute(TensorAxis axis, const PartitionTree& rows, const PartitionTree& columns,
                       const FolderWeightOptions& weights, const Context& context) {
    auto& bound = bound_[static_cast<std::size_t>(axis)];
    if (!bound) bound = engine_->bind(tensor_, axis);
    DoubleMatrix result = bound->compute(rows, columns, weights, context);
    if (!keep_) bound.reset();
    return result;
  }

 private:
  const TensorShare& tensor_;
  std::shared_ptr<const TreeDistance> engine_;
  bool keep_ = false;
  std::array<std::unique_ptr<SliceDistances>, 3> bound_;
};

class Questionnaire {
 public:
  Questionnaire(const TensorShare& tensor, const QuestionnaireOptions& options, const Context& context)
      : tensor_(tensor),
        options_(options),
        context_(context),
        distances_(tensor, context),
        head_({tree_of_one(), DoubleMatrix(1, 1)}),
        query_(head_),
        key_(head_) {
    head_.affinity(0, 0) = 1;
    // Steps: the start, each distance computation, and each score.
    steps_ = 1 + options.iterations * (one_head() ? 3 : 4);
  }

  Organization run() {
    begin();
    std::vector<double> scores;
    bool stopped = false;
    for (std::size_t i = 0; i < options_.iterations && !stopped; ++i) {
      if (!one_head()) refine(TensorAxis::kHead);
      refine(TensorAxis::kQuery);
      refine(TensorAxis::kKey);
      if (options_.keep_scores || options_.stop_below) scores.push_back(score());
      finish_step();
      stopped = i > 0 && i + 1 < options_.iterations && options_.stop_below &&
                std::abs(scores[i] - scores[i - 1]) <= *options_.stop_below * scores[i - 1];
    }
    context_.report(1);
    return {head_, query_, key_, scores, stopped, notes_};
  }

 private:
  [[nodiscard]] bool one_head() const noexcept { return tensor_.heads() == 1; }

  void begin() {
    std::vector<TensorAxis> axes;
    for (const TensorAxis axis : {TensorAxis::kQuery, TensorAxis::kKey}) {
      const auto& start = axis == TensorAxis::kQuery ? options_.query_start : options_.key_start;
      if (!start) {
        axes.push_back(axis);
      } else {
        check_start(*start, axis);
        at(axis).tree = *start;
      }
    }
    for (const TensorAxis axis : axes) at(axis).affinity = cosine_affinity(tensor_, axis);
    for (const TensorAxis axis : axes) note_slices_without_cosine(axis);
    make_trees(axes);
    finish_step();
  }

  void refine(TensorAxis axis) {
    const PartitionTree& rows = axis == TensorAxis::kHead ? query_.tree : head_.tree;
    const PartitionTree& columns = axis == TensorAxis::kKey ? query_.tree : key_.tree;
    const auto step = [&](double part) { return (static_cast<double>(done_) + part) / static_cast<double>(steps_); };
    const DoubleMatrix distances =
        distances_.compute(axis, rows, columns, options_.weights, context_.part(step(0), step(0.9)));
    note_if_alike(distances, axis);
    AxisOrganization& organized = at(axis);
    organized.affinity = distance_affinity(distances, options_.epsilon);
    make_trees(std::array{axis});
    finish_step();
  }

  // Builds the trees from the affinities, distributed over the ranks.
  void make_trees(std::span<const TensorAxis> axes) {
    Ranks& ranks = tensor_.ranks();
    std::vector<std::size_t> own;
    for (std::size_t i = ranks.rank(); i < axes.size(); i += ranks.size()) own.push_back(i);
    std::vector<std::optional<PartitionTree>> made(axes.size());
    parallel_for(own.size(), [&](std::size_t k) { made[own[k]] = make_tree(at(axes[own[k]]).affinity); });
    for (std::size_t i = 0; i < axes.size(); ++i) at(axes[i]).tree = broadcast_tree(ranks, i % ranks.size(), made[i]);
  }

  [[nodiscard]] PartitionTree make_tree(const DoubleMatrix& affinity) const {
    return options_.tree == TreeKind::kFlexible ? flexible_tree(affinity, options_.flexible)
                                                : binary_tree(affinity, options_.binary);
  }

  double score() {
    const HaarBasis head(head_.tree);
    const HaarBasis query(query_.tree);
    const HaarBasis key(key_.tree);
    return coefficient_l1(tensor_, {tensor_.extents(), {&head, &query, &key}}, work_);
  }

  void note_slices_without_cosine(TensorAxis axis) {
    const DoubleMatrix& affinity = at(axis).affinity;
    std::size_t alone = 0;
    for (std::size_t i = 0; i < affinity.rows(); ++i) {
      const auto row = affinity.row(i);
      alone += std::count_if(row.begin(), row.end(), [](double x) { return x > 0; }) == 1 ? 1 : 0;
    }
    if (alone == 0) return;
    notes_.push_back(
        fmt::format("{} of {} {} slices have a positive cosine with no other slice (zero, or disjoint): each starts "
                    "as a separate component",
                    alone, affinity.rows(), to_string(axis)));
  }

  void check_start(const PartitionTree& tree, TensorAxis axis) const {
    const std::size_t extent = tensor_.extent(axis);
    if (tree.size() == extent) return;
    throw Error(ErrorKind::kInvalidArgument, fmt::format("organize: the initial {} tree has {} elements, the "
                                                         "tensor {}",
                                                         to_string(axis), tree.size(), extent));
  }

  void note_if_alike(const DoubleMatrix& distances, TensorAxis axis) {
    const auto values = distances.values();
    if (values.size() < 4 || std::any_of(values.begin(), values.end(), [](double x) { return x > 0; })) return;
    const std::string note = fmt::format("all {} slices are equal: their tree is meaningless", to_string(axis));
    if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(note);
  }

  AxisOrganization& at(TensorAxis axis) {
    return axis == TensorAxis::kHead ? head_ : axis == TensorAxis::kQuery ? query_ : key_;
  }

  void finish_step() {
    ++done_;
    context_.report(static_cast<double>(done_) / static_cast<double>(steps_));
  }

  const TensorShare& tensor_;
  const QuestionnaireOptions& options_;
  const Context& context_;
  Distances distances_;
  AxisOrganization head_;
  AxisOrganization query_;
  AxisOrganization key_;
  std::vector<std::string> notes_;
  Buffer<float> work_;
  std::size_t steps_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

QuestionnaireOptions QuestionnaireOptions::for_one_map() {
  QuestionnaireOptions options;
  options.iterations = 10;
  options.weights = {.alpha = 1, .beta = 0};
  return options;
}

DoubleMatrix distance_affinity(const DoubleMatrix& distances, double epsilon) {
  if (!std::isfinite(epsilon) || epsilon <= 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("organize: epsilon is {}, expected a positive number", epsilon));
  }
  DoubleMatrix result = distances;
  std::vector<double> all(distances.values().begin(), distances.values().end());
  if (all.empty()) return result;
  double middle = median(all);
  if (middle == 0) {
    std::erase(all, 0.0);
    middle = all.empty() ? 1 : median(std::move(all));
  }
  const double scale = 1 / (epsilon * middle);
  parallel_for(result.rows(), [&](std::size_t i) {
    for (double& value : result.row(i)) value = std::exp(-value * scale);
  });
  return result;
}

Organization organize(const TensorShare& tensor, const QuestionnaireOptions& options, const Context& context) {
  if (options.iterations == 0) {
    throw Error(ErrorKind::kInvalidArgument, "organize: 0 iterations, expected at least 1");
  }
  return Questionnaire(tensor, options, context).run();
}

}  // namespace headscope
