#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headscope/organize/paraproduct.h"
#include "headscope/organize/questionnaire.h"
#include "headscope/organize/regularity.h"
#include "headscope/tree/tree_agreement.h"

namespace headscope {

struct SoftmaxOptions {
  QuestionnaireOptions questionnaire = QuestionnaireOptions::for_one_map();
  BoundaryOrder boundary = BoundaryOrder::kFirst;
  std::size_t draws = 3;  ///< Of shuffled trees, the control.
  std::uint64_t seed = 0;
  /// Called now and then with the share of the work that is done, from the calling thread; may throw to stop.
  std::function<void(double)> progress = {};
};

/// What one pair of trees makes of a head's scores f.
struct ParaproductFigures {
  double error_first = 0;   ///< ||A(f) - approximation|| / ||A(f)|| with A' alone, over present entries;
  double error_second = 0;  ///< with A''.
  Regularity scores;        ///< Of f,
  Regularity softmax;       ///< of A(f),
  Regularity approximation;
  Regularity residual;  ///< of A(f) - approximation: twice that of f, if f is regular.
};

/// How two organizations of the same queries and keys agree.
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

struct HeadInvariance {
  std::string head;
  ParaproductFigures found;
  ParaproductFigures shuffled;  ///< Mean over the draws, the intervals included.
  OrganizationAgreement scores_softmax;
  OrganizationAgreement scores_approximation;
  OrganizationAgreement softmax_approximation;
  PartitionTree query_tree;  ///< Found from the scores.
  PartitionTree key_tree;
  DoubleMatrix scores;  ///< f, [query, key]
  Paraproduct parts;    ///< Of g = f - logsumexp of the row; target is the softmax.
};

/// g(q, k) = f(q, k) - log sum over present keys of exp f(q, k'): exp(g) is the softmax of every row, and the mixed
/// differences of g are those of f.
[[nodiscard]] DoubleMatrix log_softmax(const NetworkTensor& scores, std::size_t head);

/// Is the organization of a head's scores that of its softmax (OA, arXiv 2506.15541)? Organizes the scores in two axes,
/// takes the softmax apart on their trees (`paraproduct` with A = exp, f = g), and compares with what is found from
/// the softmax and from the approximation themselves.
///
/// Where entries are absent, the means over folders are over what is present, errors are over present entries, and
/// organizations leave absent ones out; the mixed differences of g are then no longer exactly those of f.
///
/// \throws Error  kInvalidArgument if the tensor does not hold scores, kFormat if the head's rows are a softmax
/// already;
///                as `organize` otherwise.
[[nodiscard]] HeadInvariance softmax_invariance(const NetworkTensor& scores, std::size_t head,
                                                const SoftmaxOptions& options = {});

}  // namespace headscope
