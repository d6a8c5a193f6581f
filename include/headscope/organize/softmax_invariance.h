#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/organize/paraproduct.h"
#include "headscope/organize/questionnaire.h"
#include "headscope/organize/regularity.h"
#include "headscope/tree/tree_agreement.h"

namespace headscope {

struct SoftmaxOptions {
  QuestionnaireOptions questionnaire = QuestionnaireOptions::for_one_map();
  BoundaryOrder boundary = BoundaryOrder::kFirst;
  std::size_t draws = 3;  ///< Number of shuffled trees for comparison.
  /// Analyzes also a control: the scores permuted within each row (`permute_rows`), organized again.
  bool control = true;
  std::uint64_t seed = 0;
};

/// Results for a head's scores f under one pair of trees.
struct ParaproductFigures {
  double error_first = 0;   ///< ||A(f) - approximation|| / ||A(f)|| over present entries, with A' only;
  double error_second = 0;  ///< with A' and A''.
  Regularity scores;        ///< Of f.
  Regularity softmax;       ///< Of A(f).
  Regularity approximation;
  Regularity residual;  ///< Of A(f) - approximation: twice the exponent of f, if f is regular.
};

/// Agreement between two organizations of the same queries and keys.
struct OrganizationAgreement {
  double affinity_query = 0;  ///< `affinity_correlation`
  double affinity_key = 0;
  double rand_query = 0;  ///< Mean of `levels_query`; NaN if there are none.
  double rand_key = 0;
  double cophenetic_query = 0;  ///< `cophenetic_correlation`
  double cophenetic_key = 0;
  std::vector<LevelAgreement> levels_query;
  std::vector<LevelAgreement> levels_key;
};
[[nodiscard]] OrganizationAgreement agreement(const Organization& a, const Organization& b);

/// The same analysis of scores permuted within each row, on trees of their own.
struct InvarianceControl {
  double error_first = 0;
  double error_second = 0;
  double cophenetic_query = 0;  ///< Between the organizations of the permuted scores and of their softmax.
  double cophenetic_key = 0;
};

struct HeadInvariance {
  std::string head;
  ParaproductFigures found;
  ParaproductFigures shuffled;  ///< Mean over the draws, including the interval bounds.
  std::optional<InvarianceControl> control;
  OrganizationAgreement scores_softmax;
  OrganizationAgreement scores_approximation;
  OrganizationAgreement softmax_approximation;
  PartitionTree query_tree;  ///< Built from the scores.
  PartitionTree key_tree;
  DoubleMatrix scores;  ///< f, [query, key]
  Paraproduct parts;    ///< Of g = f - logsumexp of the row; `target` is the softmax.
};

/// Returns g(q, k) = f(q, k) - log sum_k' exp f(q, k') over present keys k'. exp(g) is the softmax of each row, and the
/// mixed differences of g equal those of f.
[[nodiscard]] DoubleMatrix log_softmax(const NetworkTensor& scores, std::size_t head);

/// Tests whether the organization of a head's scores carries over to its softmax (OA, arXiv 2506.15541). Organizes the
/// scores along queries and keys, decomposes the softmax on the resulting trees (`paraproduct` with A = exp, f = g),
/// and compares with the organizations of the softmax and of the approximation.
///
/// If entries are absent, folder means and errors are over present entries and organizations skip absent ones; the
/// mixed differences of g are then no longer exactly those of f.
///
/// The control tells what trees fitted to noise give: the same row values, at random keys.
///
/// Not collective. What counts against the memory budget is as in `organize`.
///
/// \throws Error  kInvalidArgument if the tensor does not hold scores; kFormat if the head's rows already are a
///                softmax; otherwise as `organize`.
[[nodiscard]] HeadInvariance softmax_invariance(const NetworkTensor& scores, std::size_t head,
                                                const SoftmaxOptions& options = {}, const Context& context = {});

}  // namespace headscope
