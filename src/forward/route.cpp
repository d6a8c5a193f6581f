#include "forward/route.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headscope/forward/row_kernels.h"

namespace headscope {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// The index of the largest value that is not taken. Comparisons with NaN are false, so that the search always ends.
std::size_t best(std::span<const float> values, const std::vector<bool>& taken) {
  std::size_t found = values.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!taken[i] && (found == values.size() || values[i] > values[found])) found = i;
  }
  return found;
}

// Takes the experts of all groups but the best.
void exclude_groups(const Router& router, std::span<const float> ranks, std::vector<bool>& taken) {
  const std::size_t size = ranks.size() / router.groups;
  std::vector<float> scores;
  for (std::size_t g = 0; g < router.groups; ++g) {
    float first = kLowest;
    float second = kLowest;
    for (const float rank : ranks.subspan(g * size, size)) {
      if (rank > first) {
        second = first;
        first = rank;
      } else if (rank > second) {
        second = rank;
      }
    }
    scores.push_back(router.best_of_group ? first : first + second);
  }
  std::vector<bool> kept(router.groups);
  for (std::size_t k = 0; k < router.chosen_groups; ++k) kept[best(scores, kept)] = true;
  for (std::size_t i = 0; i < ranks.size(); ++i) taken[i] = !kept[i / size];
}

// Two experts, each with its share in a softmax over the scores that are within a relative distance of the largest; for
// the second, the first is left out.
void mix_sparsely(const Router& router, std::span<const float> logits, std::span<ChosenExpert> chosen) {
  std::vector<bool> taken(logits.size());
  for (ChosenExpert& one : chosen) {
    one.expert = best(logits, taken);
    const float largest = logits[one.expert];
    double sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const float scale = std::max(std::abs(logits[i]), largest);
      if (taken[i] || (largest - logits[i]) / scale > router.tolerance) continue;
      sum += std::exp(static_cast<double>(logits[i] - largest));
    }
    one.weight = static_cast<float>(1 / sum);
    taken[one.expert] = true;
  }
}

}  // namespace

void choose_experts(const Router& router, std::span<const float> logits, std::span<const float> correction,
                    std::span<ChosenExpert> chosen) {
  if (router.score == RouterScore::kSparseMixer) return mix_sparsely(router, logits, chosen);
  std::vector<float> scores(logits.begin(), logits.end());
  if (router.score == RouterScore::kSoftmax) {
    softmax(scores);
  } else {
    for (float& score : scores) score = 1 / (1 + std::exp(-score));
  }
  std::vector<float> ranks = scores;
  for (std::size_t i = 0; i < correction.size(); ++i) ranks[i] += correction[i];
  std::vector<bool> taken(scores.size());
  if (router.groups > 1) exclude_groups(router, ranks, taken);
  float sum = 0;
  for (ChosenExpert& one : chosen) {
    one.expert = best(ranks, taken);
    one.weight = scores[one.expert];
    taken[one.expert] = true;
    sum += one.weight;
  }
  const float factor = (router.normalized ? 1 / (sum + 1e-20F) : 1) * router.scaling;
  for (ChosenExpert& one : chosen) one.weight *= factor;
}

}  // namespace headscope
