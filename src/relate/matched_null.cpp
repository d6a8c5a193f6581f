#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "headscope/base/message.h"
#include "headscope/base/parallel.h"
#include "headscope/base/random.h"
#include "headscope/linalg/anisotropic_normal.h"
#include "headscope/linalg/block_norms.h"
#include "headscope/linalg/orthonormal_basis.h"
#include "headscope/relate/null_model.h"
#include "relate/angle_affinity.h"
#include "relate/head_factors.h"
#include "relate/head_selection.h"
#include "relate/layer_owner.h"
#include "relate/matched_cost.h"

namespace headscope {
namespace {

// Random subspaces of one role, stacked for products.
struct Draws {
  std::size_t count = 0;
  Buffer<float> values;
};

class MatchedNull {
 public:
  MatchedNull(const Model& model, std::span<const RolePair> pairs, const AffinityOptions& affinity_options,
              const MatchedOptions& options, const Context& context)
      : model_(model),
        affinity_options_(affinity_options),
        options_(options),
        context_(context),
        sizes_(model.info().sizes),
        ranks_(context.ranks),
        selection_(sizes_, affinity_options.layers, affinity_options.heads, affinity_options.named_heads),
        cost_(sizes_, options.draws) {
    std::set<std::pair<Role, Side>> draws;
    for (const RolePair pair : pairs) {
      roles_.insert({pair.source, pair.target});
      draws.insert({{pair.source, Side::kSource}, {pair.target, Side::kTarget}});
    }
    for (const Role role : roles_) {
      const std::size_t heads = selection_.heads(is_key_value(role)).before(selection_.layers().size());
      total_ += cost_.root + static_cast<double>(heads) * cost_.head;
    }
    total_ += static_cast<double>(draws.size()) * cost_.draws + static_cast<double>(pairs.size()) * cost_.pair;
  }

  // Reads the heads of all layers; afterwards `draws` can be called on rank 0.
  void prepare() {
    for (const Role role : roles_) {
      CovarianceSum sum = collect(role);
      if (is_root()) distributions_.emplace(role, AnisotropicNormal(std::move(sum)));
      report(cost_.root);
    }
  }
  [[nodiscard]] bool is_root() const noexcept { return ranks_.is_root(); }

  const Draws& draws(Role role, Side side) {
    Draws& found = draws_[{role, side}];
    if (found.count > 0) return found;
    const std::size_t d = sizes_.d_model;
    const std::size_t h = sizes_.d_head;
    const AnisotropicNormal& normal = distributions_.at(role);
    found.count = options_.draws;
    found.values = Buffer<float>(found.count * d * h);
    parallel_for(found.count, [&](std::size_t draw) {
      Random random(options_.seed, {static_cast<std::uint64_t>(role), static_cast<std::uint64_t>(side), draw});
      std::vector<float> columns(d * h);
      normal.sample(random, columns, h);
      // Gaussian columns are linearly independent, so the rank is not checked.
      static_cast<void>(orthonormal_basis(columns, d, h, 0, found.values.values().subspan(draw * d * h, d * h)));
    });
    report(cost_.draws);
    return found;
  }
  // Reports that the products of two roles' draws are done.
  void finish_pair() { report(cost_.pair); }

  [[nodiscard]] FactorStack stack(const Draws& draws) const {
    return {draws.values.data(), draws.count, sizes_.d_head, sizes_.d_model};
  }
  [[nodiscard]] const HeadSizes& sizes() const noexcept { return sizes_; }

 private:
  // Returns the sum of the role's projectors over all heads, which rank 0 adds up in layer order.
  CovarianceSum collect(Role role) {
    CovarianceSum sum(ranks_.is_root() ? sizes_.d_model : 0);
    const LayerHeads& heads = selection_.heads(is_key_value(role));
    FactorWeights weights;
    LayerFactors bases;
    for (std::size_t i = 0; i < selection_.layers().size(); ++i) {
      const std::size_t owner = layer_owner(i, ranks_.size());
      if (owner == ranks_.rank()) {
        weights = load_weights(model_, selection_.layers()[i], {Metric::kPk, role, Side::kSource},
                               affinity_options_.weights, heads.of(i), std::move(weights));
        bases = prepare_factors(weights, std::move(bases));
        add(sum, bases.values.values());
      } else if (ranks_.is_root()) {
        const std::vector<std::byte> bytes = ranks_.receive(owner);
        Buffer<float> values(bytes.size() / sizeof(float));
        MessageReader(bytes).take_all(values.values());
        add(sum, values.values());
      }
      report(static_cast<double>(heads.of(i).size()) * cost_.head);
    }
    return sum;
  }

  void add(CovarianceSum& sum, std::span<const float> bases) const {
    if (!ranks_.is_root()) return ranks_.send(0, std::as_bytes(bases));
    sum.add(bases, bases.size() / sizes_.d_model);
  }

  void report(double flops) {
    done_ += flops;
    context_.report(std::min(1.0, done_ / total_));
  }

  const Model& model_;
  const AffinityOptions& affinity_options_;
  const MatchedOptions& options_;
  const Context& context_;
  HeadSizes sizes_;
  Ranks& ranks_;
  HeadSelection selection_;
  std::set<Role> roles_;
  MatchedCost cost_;
  double total_ = 0;  // flops
  double done_ = 0;
  std::map<Role, AnisotropicNormal> distributions_;
  std::map<std::pair<Role, Side>, Draws> draws_;
};

std::vector<double> product_values(const FactorStack& a, const FactorStack& b) {
  std::vector<float> values(a.count * b.count);
  cpu_block_norms()->compute(a, b, values.data(), b.count);
  return {values.begin(), values.end()};
}

std::vector<double> angle_values(Metric metric, const FactorStack& a, const FactorStack& b) {
  std::vector<double> values(a.count * b.count);
  const auto basis = [](const FactorStack& stack, std::size_t i) {
    const float* begin = stack.slice(i, 1).values;
    return std::vector<double>(begin, begin + stack.width * stack.d);
  };
  parallel_for(values.size(), [&](std::size_t index) {
    values[index] = angle_metric(metric, basis(a, index / b.count), a.width, basis(b, index % b.count), b.width, a.d);
  });
  return values;
}

NullMoments moments(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

}  // namespace

std::optional<std::vector<NullMoments>> matched_moments(const Model& model, Metric metric,
                                                        std::span<const RolePair> pairs,
                                                        const AffinityOptions& affinity_options,
                                                        const MatchedOptions& options, const Context& context) {
  MatchedNull null(model, pairs, affinity_options, options, context);
  null.prepare();
  if (!null.is_root()) return std::nullopt;
  std::vector<NullMoments> result;
  for (const RolePair pair : pairs) {
    const FactorStack source = null.stack(null.draws(pair.source, Side::kSource));
    const FactorStack target = null.stack(null.draws(pair.target, Side::kTarget));
    result.push_back(
        moments(info(metric).angles() ? angle_values(metric, source, target) : product_values(source, target)));
    null.finish_pair();
  }
  return result;
}

}  // namespace headscope
