#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
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
#include "relate/joint_span.h"
#include "relate/layer_owner.h"
#include "relate/matched_cost.h"

namespace headscope {
namespace {

// Random subspaces of one role and side, stacked for products. Columns beyond the rank are zero.
struct Draws {
  std::size_t count = 0;
  std::size_t rank = 0;
  std::size_t width = 0;
  Buffer<float> values;
};

// The heads of one role.
struct RoleHeads {
  CovarianceSum projectors;
  std::size_t heads = 0;  // those that are not zero
  std::size_t ranks = 0;  // their sum
  std::size_t full_rank = 0;

  [[nodiscard]] double count() const noexcept { return static_cast<double>(std::max<std::size_t>(1, heads)); }
  [[nodiscard]] MatchedSide side() const noexcept { return {static_cast<double>(ranks) / count(), full_rank}; }
};

// The mean of pk over all pairs of different heads.
double mean_kernel(const RoleHeads& source, const RoleHeads& target, bool same) {
  const double mean = source.projectors.inner(target.projectors) / (source.count() * target.count());
  if (!same || source.heads < 2) return mean;
  return (source.count() * mean - source.side().mean_rank) / (source.count() - 1);
}

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

  // Reads the heads of all layers. On rank 0, draws all subspaces.
  void prepare(std::span<const RolePair> pairs) {
    for (const Role role : roles_) {
      const RoleHeads& heads = heads_.emplace(role, collect(role)).first->second;
      if (is_root()) {
        const AnisotropicNormal normal(heads.projectors, heads.count());
        const auto is_used = [&](Side side) {
          return std::ranges::any_of(
              pairs, [&](RolePair pair) { return (side == Side::kSource ? pair.source : pair.target) == role; });
        };
        for (const Side side : {Side::kSource, Side::kTarget}) {
          if (is_used(side)) draw(normal, role, side);
        }
      }
      report(cost_.root);
    }
  }
  [[nodiscard]] bool is_root() const noexcept { return ranks_.is_root(); }

  [[nodiscard]] const Draws& draws(Role role, Side side) const { return draws_.at({role, side}); }
  [[nodiscard]] const RoleHeads& heads(Role role) const { return heads_.at(role); }
  // Reports that the products of two roles' draws are done.
  void finish_pair() { report(cost_.pair); }

  [[nodiscard]] FactorStack stack(const Draws& draws) const {
    return {draws.values.data(), draws.count, draws.width, sizes_.d_model};
  }
  [[nodiscard]] const HeadSizes& sizes() const noexcept { return sizes_; }

 private:
  void draw(const AnisotropicNormal& normal, Role role, Side side) {
    const std::size_t d = sizes_.d_model;
    Draws& drawn = draws_[{role, side}];
    drawn.width = sizes_.width(role);
    const std::size_t size = d * drawn.width;
    drawn.count = options_.draws;
    drawn.rank = heads_.at(role).full_rank;
    drawn.values = Buffer<float>(drawn.count * size);
    std::ranges::fill(drawn.values.values(), 0.0F);
    parallel_for(drawn.rank == 0 ? 0 : drawn.count, [&](std::size_t index) {
      Random random(options_.seed, {static_cast<std::uint64_t>(role), static_cast<std::uint64_t>(side), index});
      std::vector<float> columns(d * drawn.rank);
      normal.sample(random, columns, drawn.rank);
      // Gaussian columns are linearly independent, so the rank is not checked.
      static_cast<void>(
          orthonormal_basis(columns, d, drawn.rank, 0, drawn.values.values().subspan(index * size, d * drawn.rank)));
    });
    report(cost_.draws);
  }

  // Returns the sum of the role's projectors over all heads, which rank 0 adds up in layer order.
  RoleHeads collect(Role role) {
    RoleHeads sum{CovarianceSum(ranks_.is_root() ? sizes_.d_model : 0)};
    const LayerHeads& heads = selection_.heads(is_key_value(role));
    FactorWeights weights;
    LayerFactors bases;
    for (std::size_t i = 0; i < selection_.layers().size(); ++i) {
      const std::size_t layer = selection_.layers()[i];
      const bool elsewhere = options_.stream && stream_of(sizes_.place(layer).block, role) != *options_.stream;
      if (heads.of(i).empty() || elsewhere) continue;
      const std::size_t owner = layer_owner(i, ranks_.size());
      if (owner == ranks_.rank()) {
        weights = load_weights(model_, layer, {Metric::kPk, role, Side::kSource}, affinity_options_.weights,
                               heads.of(i), std::move(weights));
        const std::optional<WeightsInSpan> inside = in_joint_span(weights);
        bases = prepare_factors(inside ? inside->weights : weights, std::move(bases));
        const JointSpan none;
        const JointSpan& span = inside ? inside->span : none;
        if (is_root()) {
          add(sum, bases.ranks, span, bases.values.values());
        } else {
          MessageWriter message;
          message.put_all(std::span<const std::size_t>(bases.ranks));
          message.put(span.rank);
          message.put_all(span.basis());
          message.put_all(std::span<const float>(bases.values.values()));
          ranks_.send(0, message.bytes());
        }
      } else if (is_root()) {
        const std::vector<std::byte> bytes = ranks_.receive(owner);
        std::vector<std::size_t> found(heads.of(i).size());
        MessageReader message(bytes);
        message.take_all(std::span(found));
        JointSpan span{message.take<std::size_t>(), sizes_.d_model, {}};
        span.vectors = Buffer<float>(span.rank * span.d);
        message.take_all(span.vectors.values());
        const std::size_t d = span.empty() ? span.d : span.rank;
        Buffer<float> values(found.size() * d * sizes_.width(selection_.layers()[i], role));
        message.take_all(values.values());
        add(sum, found, span, values.values());
      }
      report(static_cast<double>(heads.of(i).size()) * cost_.head);
    }
    return sum;
  }

  static void add(RoleHeads& sum, std::span<const std::size_t> ranks, const JointSpan& span,
                  std::span<const float> bases) {
    add_projectors(sum.projectors, span, bases);
    for (const std::size_t rank : ranks) {
      sum.heads += rank > 0 ? 1 : 0;
      sum.ranks += rank;
      sum.full_rank = std::max(sum.full_rank, rank);
    }
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
  std::map<Role, RoleHeads> heads_;
  std::map<std::pair<Role, Side>, Draws> draws_;
};

std::vector<double> product_values(const FactorStack& a, const FactorStack& b) {
  std::vector<float> values(a.count * b.count);
  cpu_block_norms()->compute(a, b, values.data(), b.count);
  return {values.begin(), values.end()};
}

std::vector<double> angle_values(Metric metric, const FactorStack& a, std::size_t a_rank, const FactorStack& b,
                                 std::size_t b_rank) {
  std::vector<double> values(a.count * b.count);
  const auto basis = [](const FactorStack& stack, std::size_t i, std::size_t rank) {
    const float* begin = stack.slice(i, 1).values;
    return std::vector<double>(begin, begin + rank * stack.d);
  };
  parallel_for(values.size(), [&](std::size_t index) {
    values[index] =
        angle_metric(metric, basis(a, index / b.count, a_rank), a_rank, basis(b, index % b.count, b_rank), b_rank, a.d);
  });
  return values;
}

NullMoments moments(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  double squares = 0;
  double cubes = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
    cubes += std::pow(value - mean, 3);
  }
  const double deviation = values.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  return {mean, deviation, deviation > 0 ? cubes / count / std::pow(deviation, 3) : 0};
}

// The values on the scale of z, larger for closer spaces, sorted.
std::vector<float> standardized(const std::vector<double>& values, const NullMoments& of, bool distance) {
  std::vector<float> sample;
  if (!(of.deviation > 0)) return sample;
  for (const double value : values) {
    sample.push_back(static_cast<float>((value - of.mean) / of.deviation * (distance ? -1 : 1)));
  }
  std::ranges::sort(sample);
  return sample;
}

std::optional<std::vector<MatchedLaw>> laws_of_stream(const Model& model, Metric metric,
                                                      std::span<const RolePair> pairs,
                                                      const AffinityOptions& affinity_options,
                                                      const MatchedOptions& options, const Context& context) {
  MatchedNull null(model, pairs, affinity_options, options, context);
  null.prepare(pairs);
  if (!null.is_root()) return std::nullopt;
  std::vector<MatchedLaw> result;
  for (const RolePair pair : pairs) {
    const Draws& source = null.draws(pair.source, Side::kSource);
    const Draws& target = null.draws(pair.target, Side::kTarget);
    const FactorStack a = null.stack(source);
    const FactorStack b = null.stack(target);
    const std::vector<double> values =
        info(metric).angles() ? angle_values(metric, a, source.rank, b, target.rank) : product_values(a, b);
    MatchedLaw law{moments(values), null.heads(pair.source).side(), null.heads(pair.target).side()};
    if (info(metric).angles()) {
      law.sample = standardized(values, law.moments, info(metric).distance);
    } else {
      law.moments.mean = mean_kernel(null.heads(pair.source), null.heads(pair.target), pair.source == pair.target);
    }
    result.push_back(std::move(law));
    null.finish_pair();
  }
  return result;
}

}  // namespace

std::optional<std::vector<MatchedLaw>> matched_laws(const Model& model, Metric metric, std::span<const RolePair> pairs,
                                                    const AffinityOptions& affinity_options,
                                                    const MatchedOptions& options, const Context& context) {
  if (!model.info().sizes.has_blocks()) {
    return laws_of_stream(model, metric, pairs, affinity_options, options, context);
  }
  MatchedOptions of_stream = options;
  of_stream.stream = Stream::kMain;
  auto laws = laws_of_stream(model, metric, pairs, affinity_options, of_stream, context.part(0, 0.5));
  of_stream.stream = Stream::kEncoder;
  auto encoder = laws_of_stream(model, metric, pairs, affinity_options, of_stream, context.part(0.5, 1));
  for (std::size_t k = 0; laws && k < laws->size(); ++k) {
    (*laws)[k].of_encoder = std::make_shared<const MatchedLaw>(std::move((*encoder)[k]));
  }
  return laws;
}

}  // namespace headscope
