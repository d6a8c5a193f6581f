#include "relate/memory_plan.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

#include "headscope/base/memory.h"
#include "headscope/base/parallel.h"
#include "headscope/relate/judgment.h"
#include "relate/head_factors.h"
#include "relate/head_selection.h"

namespace headscope {
namespace {

std::size_t product(std::initializer_list<std::size_t> factors) {
  std::size_t result = 1;
  for (const std::size_t factor : factors) result = saturating_multiply(result, factor);
  return result;
}

std::size_t sum(std::initializer_list<std::size_t> terms) {
  std::size_t result = 0;
  for (const std::size_t term : terms) result = saturating_add(result, term);
  return result;
}

// Pairs of heads of one role pair.
struct PairCount {
  std::size_t heads = 0;  // on both sides
  std::size_t all = 0;
  std::size_t later = 0;  // earlier-to-later
};

class Counter {
 public:
  Counter(const ModelInfo& model, const RelateOptions& options, std::size_t ranks)
      : sizes_(model.sizes),
        loading_(model.loading_memory),
        options_(options),
        ranks_(ranks),
        selection_(sizes_, options.affinity.layers, options.affinity.heads, options.affinity.named_heads) {
    for (const RolePair pair : options.pairs) {
      for (const Metric metric : options.metrics) {
        for (const Side side : {Side::kSource, Side::kTarget}) {
          width_ = std::max(width_, factor_width(factor_key(metric, pair, side), sizes_));
        }
        if (info(metric).products()) width_ = std::max(width_, sizes_.widest());
      }
      const PairCount found = count(options.metrics.front(), pair);
      later_ = saturating_add(later_, found.later);
      most_later_ = std::max(most_later_, found.later);
      primary_ = saturating_add(primary_, found.all);
    }
  }

  [[nodiscard]] RelateMemory run(const NullPlan& plan) const {
    RelateMemory memory;
    memory.heads = nodes();
    memory.results = results();
    const std::size_t layer = product({selection_.heads(false).most(), sizes_.d_model, width_, sizeof(float)});
    memory.layer = layer;
    memory.engine = engine(layer);
    if (plan.uses(NullModel::kMatched)) memory.matched = matched(layer);
    if (options_.sensitivity) memory.sensitivity = sensitivity(layer);
    memory.judgment = judgment(plan.used.size());
    // The similarities, a copy with its eigenvectors in progress, and the one they are computed from; later distances.
    memory.communities = product({26, nodes(), nodes()});
    // Values, their pairs of heads, and 16 bytes per labeled pair, which are sorted.
    memory.measures = product({options_.labels ? std::size_t{48} : std::size_t{20}, most_later_});
    return memory;
  }

 private:
  [[nodiscard]] PairCount count(Metric metric, RolePair pair) const {
    const auto heads = [&](Role role) -> const LayerHeads& {
      return selection_.heads(!info(metric).by_query_head() && is_key_value(role));
    };
    const LayerHeads& source = heads(pair.source);
    const LayerHeads& target = heads(pair.target);
    const std::size_t layers = selection_.layers().size();
    PairCount found;
    found.heads = source.before(layers) + target.before(layers);
    found.all = saturating_multiply(source.before(layers), target.before(layers));
    const auto place = [&](std::size_t i) { return sizes_.place(selection_.layers()[i]); };
    for (std::size_t i = 0; i < layers; ++i) {
      for (std::size_t j = 0; j < layers; ++j) {
        if (!precedes(place(i), pair.source, place(j), pair.target)) continue;
        found.later = saturating_add(found.later, saturating_multiply(source.of(i).size(), target.of(j).size()));
      }
    }
    return found;
  }

  [[nodiscard]] std::size_t nodes() const {
    const std::size_t layers = selection_.layers().size();
    const std::size_t kv = sizes_.kv_heads != sizes_.heads ? selection_.heads(true).before(layers) : 0;
    return selection_.heads(false).before(layers) + kv;
  }

  [[nodiscard]] std::size_t results() const {
    constexpr std::size_t kPerHead = 256;   // identity, rank and moments, with their maps while files are written
    constexpr std::size_t kPerNode = 1024;  // measures, hub with its reason, names
    std::size_t bytes = product({kPerNode, nodes()});
    for (const Metric metric : options_.metrics) {
      for (const RolePair pair : options_.pairs) {
        if (!is_defined(metric, pair)) continue;
        const PairCount found = count(metric, pair);
        const bool primary = metric == options_.metrics.front() && !options_.q_level;
        const std::size_t edges = primary ? std::min(options_.top, found.later) : 0;
        bytes = sum({bytes, product({sizeof(float), found.all}), product({kPerHead, found.heads}),
                     product({kEdgeBytes, edges})});
      }
    }
    return bytes;
  }

  // Two target layers, the weights of one role or two as they are read and processed, and what is not yet saved. With
  // several ranks, also a layer being sent and one being received, and rows of results in transit.
  [[nodiscard]] std::size_t engine(std::size_t layer) const {
    const std::size_t per_thread = product({3, sizes_.d_model, width_, sizeof(double)});
    const std::size_t pending = std::min(product({sizeof(float), primary_}), FinishedBlocks::kMostPending);
    const std::size_t transit = ranks_ > 1 ? sum({product({2, layer}), product({2, sizeof(float), primary_})}) : 0;
    return sum({product({6, layer}), loading_, product({thread_count(), per_thread}), product({3, pending}), transit});
  }

  // Draws per role and side, sums of projectors per role, and the root of one of them while it is computed.
  [[nodiscard]] std::size_t matched(std::size_t layer) const {
    std::set<Role> roles;
    std::set<std::pair<Role, Side>> draws;
    for (const RolePair pair : options_.pairs) {
      roles.insert({pair.source, pair.target});
      draws.insert({{pair.source, Side::kSource}, {pair.target, Side::kTarget}});
    }
    const std::size_t square = product({sizes_.d_model, sizes_.d_model});
    const std::size_t count = options_.matched.draws;
    const std::size_t per_draw = product({sizes_.d_model, width_, sizeof(float)});
    constexpr std::size_t kPerValue = 32;  // of a metric on two draws: single, double, standardized
    return sum({product({draws.size(), count, per_draw}), product({roles.size(), square, sizeof(float)}),
                product({square, 2 * sizeof(double) + sizeof(float)}), product({3, layer}), loading_,
                product({thread_count(), 4, per_draw}), product({kPerValue, count, count})});
  }

  // The affinities of one variant, and the ranks of two sets of values; before them the eigenvectors of projectors.
  [[nodiscard]] std::size_t sensitivity(std::size_t layer) const {
    const std::size_t compared = product({56, most_later_});
    const std::size_t directions = sum({product({24, sizes_.d_model, sizes_.d_model}), product({3, layer}), loading_});
    return std::max(directions, sum({product({sizeof(float), primary_}), engine(layer), layer, compared}));
  }

  // q per null, z and the joint q of all role pairs; then either one role pair being judged, or the joint q being
  // computed, or the links of hubs.
  [[nodiscard]] std::size_t judgment(std::size_t nulls) const {
    const std::size_t kept = product({sizeof(float), nulls + 2, later_});
    return saturating_add(kept, std::max(product({16, most_later_}), product({8, later_})));
  }

  HeadSizes sizes_;
  std::size_t width_ = 0;    // of the widest matrix that is read
  std::size_t loading_ = 0;  // bytes to compose a role's matrices
  const RelateOptions& options_;
  std::size_t ranks_;
  HeadSelection selection_;
  std::size_t later_ = 0;  // of the first metric, over all role pairs
  std::size_t most_later_ = 0;
  std::size_t primary_ = 0;
};

}  // namespace

std::size_t RelateMemory::needed() const noexcept {
  return saturating_add(
      results, std::max({saturating_add(engine, layer), matched, sensitivity, judgment, communities, measures}));
}

RelateMemory relate_memory(const ModelInfo& model, const RelateOptions& options, std::size_t ranks) {
  const NullPlan plan = plan_nulls(options);
  return Counter(model, options, ranks).run(plan);
}

}  // namespace headscope
