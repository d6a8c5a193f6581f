#include "organize/coefficient_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <numeric>

#include "headscope/base/parallel.h"
#include "headscope/base/ranks.h"

namespace headscope {
namespace {

// Indices of the coefficients of largest support, ties by index.
std::vector<std::size_t> largest_supports(const TensorHaar& haar, std::size_t count) {
  // The largest products are among the products of the largest factors, so `count` factors per axis suffice.
  std::array<std::vector<std::size_t>, 3> order;
  const auto support = [&](std::size_t axis, std::size_t k) {
    return haar.bases[axis] == nullptr ? 1 : haar.bases[axis]->supports()[k];
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    order[axis].resize(haar.extents[axis]);
    std::iota(order[axis].begin(), order[axis].end(), std::size_t{0});
    std::stable_sort(order[axis].begin(), order[axis].end(),
                     [&](std::size_t a, std::size_t b) { return support(axis, a) > support(axis, b); });
    order[axis].resize(std::min(count, order[axis].size()));
  }
  std::vector<std::pair<double, std::size_t>> products;
  for (std::size_t a = 0; a < order[0].size(); ++a) {
    for (std::size_t b = 0; b < order[1].size() && (a + 1) * (b + 1) <= count; ++b) {
      for (std::size_t c = 0; c < order[2].size() && (a + 1) * (b + 1) * (c + 1) <= count; ++c) {
        const double product = support(0, order[0][a]) * support(1, order[1][b]) * support(2, order[2][c]);
        const std::size_t index = (order[0][a] * haar.extents[1] + order[1][b]) * haar.extents[2] + order[2][c];
        products.emplace_back(-product, index);
      }
    }
  }
  std::sort(products.begin(), products.end());
  products.resize(std::min(count, products.size()));
  std::vector<std::size_t> chosen;
  for (const auto& [ignored, index] : products) chosen.push_back(index);
  return chosen;
}

}  // namespace

std::vector<std::size_t> curve_ranks(std::size_t count) {
  std::vector<std::size_t> ranks;
  for (std::size_t decade = 1; decade <= count; decade *= 10) {
    for (const std::size_t digit : {1u, 2u, 3u, 5u, 7u}) {
      if (digit * decade <= count) ranks.push_back(digit * decade);
    }
  }
  return ranks;
}

CoefficientPlan::CoefficientPlan(const TensorHaar& of, std::size_t entropy_terms) : haar(of), bins(of) {
  const std::vector<std::size_t> chosen = largest_supports(haar, entropy_terms);
  for (std::size_t i = 0; i < chosen.size(); ++i) largest.emplace_back(chosen[i], i);
  std::ranges::sort(largest);
}

void CoefficientSummary::add(std::size_t head, std::size_t first, std::span<const float> coefficients) {
  if (coefficients.empty()) return;
  magnitudes_.add(coefficients);
  if (head == 0 && first == 0) magnitudes_.remove(coefficients[0]);
  plan_->bins.sample(head, first, coefficients, samples_);
  const std::size_t begin = head * plan_->haar.extents[1] * plan_->haar.extents[2] + first;
  auto term = std::ranges::lower_bound(plan_->largest, begin, {}, [](const auto& pair) { return pair.first; });
  for (; term != plan_->largest.end() && term->first < begin + coefficients.size(); ++term) {
    terms_[term->second] = std::abs(coefficients[term->first - begin]);
  }
}

void CoefficientSummary::add(CoefficientSummary other) {
  magnitudes_.add(other.magnitudes_);
  add_samples(samples_, std::move(other.samples_));
  for (std::size_t i = 0; i < terms_.size(); ++i) terms_[i] += other.terms_[i];  // one of the two is zero
}

void CoefficientSummary::put(MessageWriter& message) const {
  magnitudes_.put(message);
  message.put(samples_.size());
  for (const std::vector<float>& bin : samples_) {
    message.put(bin.size());
    message.put_all(std::span(bin));
  }
  message.put_all(std::span(terms_));
}

CoefficientSummary CoefficientSummary::take(const CoefficientPlan& plan, MessageReader& message) {
  CoefficientSummary result(plan);
  result.magnitudes_ = Magnitudes::take(message);
  result.samples_.resize(message.take<std::size_t>());
  for (std::vector<float>& bin : result.samples_) {
    bin.resize(message.take<std::size_t>());
    message.take_all(std::span(bin));
  }
  message.take_all(std::span(result.terms_));
  return result;
}

CoefficientSummary::Figures CoefficientSummary::finish() && {
  const double count = std::max(1.0, magnitudes_.count());
  const double energy = magnitudes_.energy();
  const auto share = [&](double part) {
    return energy > 0 ? std::min(1.0, magnitudes_.top_energy(std::max(1.0, std::floor(part * count))) / energy) : 0;
  };
  Figures result;
  SparsityFigures& figures = result.figures;
  figures.l1 = energy > 0 ? magnitudes_.l1() / std::sqrt(energy) : 0;
  figures.needed_99 = magnitudes_.needed(0.99 * energy) / count;
  figures.top_001 = share(0.001);
  figures.top_01 = share(0.01);
  figures.top_10 = share(0.1);
  figures.error_01 = energy > 0 ? std::sqrt(1 - figures.top_01) : 0;
  figures.error_10 = energy > 0 ? std::sqrt(1 - figures.top_10) : 0;
  for (const float term : terms_) figures.entropy += static_cast<double>(term);
  result.regularity = fit_regularity(plan_->bins, std::move(samples_));
  figures.alpha = result.regularity.alpha;
  result.curve = magnitudes_.at_ranks(curve_ranks(static_cast<std::size_t>(magnitudes_.count())));
  for (double& value : result.curve) value = energy > 0 ? value / std::sqrt(energy) : 0;
  return result;
}

CoefficientSummary summarize(const CoefficientPlan& plan, std::size_t first, std::size_t positions,
                             std::span<const float> coefficients) {
  CoefficientSummary result(plan);
  // A few parts per thread, none so small that merging takes longer than summarizing.
  constexpr std::size_t kSmallest = std::size_t{1} << 16;
  const std::size_t most = threads_here() == 1 ? 1 : 4 * threads_here();
  const std::size_t parts = std::clamp<std::size_t>(coefficients.size() / kSmallest, 1, most);
  std::mutex mutex;
  parallel_for(parts, [&](std::size_t p) {
    CoefficientSummary part(plan);
    const IndexRange share = partition_range(coefficients.size(), p, parts);
    for (std::size_t begin = share.begin, end = 0; begin < share.end; begin = end) {
      const std::size_t head = begin / positions;
      end = std::min(share.end, (head + 1) * positions);
      part.add(head, first + begin - head * positions, coefficients.subspan(begin, end - begin));
    }
    const std::lock_guard lock(mutex);
    result.add(std::move(part));
  });
  return result;
}

}  // namespace headscope
