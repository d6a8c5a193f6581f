#include "headscope/relate/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/model/network.h"
#include "headscope/model/stream_matrix.h"
#include "headscope/relate/mib_graph.h"
#include "relate/density.h"
#include "relate/head_factors.h"
#include "relate/head_selection.h"
#include "relate/memory_plan.h"

namespace headscope {
namespace {

// What is read and prepared at a time: the heads of one layer in one role, or one component.
struct Item {
  bool heads = false;
  Role role = Role::kO;                   // of heads
  StreamPart part = StreamPart::kMlpOut;  // of a component
  std::size_t layer = 0;
  std::optional<std::size_t> expert = {};  // of an MLP, instead of all
  std::vector<std::size_t> selected = {};  // heads of the layer
  std::size_t side = 0;
  std::size_t first = 0;  // row or column
  std::size_t count = 1;
};

struct Prepared {
  const Item* item = nullptr;
  LayerFactors heads = {};
  Density density = {};
};

Network network_of(const Model& model) {
  try {
    return resolve_network(model);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("--nodes: only heads are known of this model: {}", error.what()));
  }
}

// The components of a model, and what it takes to compare them.
class Plan {
 public:
  Plan(const Model& model, const ComponentChoice& choice, std::span<const Role> roles, const AffinityOptions& options)
      : model_(model),
        options_(options),
        network_(network_of(model)),
        selection_(model.info().sizes, options.layers, options.heads, options.named_heads) {
    result.d = model.info().sizes.d_model;
    result.parallel = network_.parallel;
    add_part(choice.embedding, ComponentKind::kEmbedding, StreamPart::kEmbedding, "embedding");
    add_part(choice.position, ComponentKind::kPosition, StreamPart::kPosition, "position");
    add_heads(Role::kO);
    if (choice.mlp) add_mlps(StreamPart::kMlpOut, choice.each_expert);
    for (const Role role : roles) add_heads(role);
    if (choice.rotary_key) add_rotary_keys();
    if (choice.mlp) add_mlps(StreamPart::kMlpIn, choice.each_expert);
    add_part(choice.unembedding, ComponentKind::kUnembedding, StreamPart::kUnembedding, "unembedding");
    // In the order of the forward pass, so that parts of the writing side need few of the reading side.
    const auto depth = [this](const std::vector<ComponentSide>& sides) {
      return [&sides](const Item& item) { return sides[item.side].nodes[item.first].depth(); };
    };
    std::ranges::stable_sort(sources, {}, depth(result.sources));
    std::ranges::stable_sort(targets, {}, depth(result.targets));
  }

  [[nodiscard]] Prepared prepare(const Item& item) const {
    Prepared prepared;
    prepared.item = &item;
    if (item.heads) {
      prepared.heads =
          load_factors(model_, item.layer, {Metric::kPk, item.role, Side::kSource}, options_.weights, item.selected);
    } else {
      prepared.density = make_density(matrix(item), result.d);
    }
    return prepared;
  }

  // Bytes of a prepared item, and besides while it is prepared.
  [[nodiscard]] DensityMemory memory(const Item& item) const {
    const HeadSizes& sizes = model_.info().sizes;
    const std::size_t stack = item.count * sizes.width(item.layer, item.role) * sizes.d_model * sizeof(float);
    if (item.heads) {
      const std::size_t layer = sizes.heads * sizes.width(item.role) * sizes.d_model * sizeof(float);
      return {stack, 3 * layer + model_.info().loading_memory};
    }
    return density_memory(matrix(item), result.d);
  }

  // Bytes of the scores and of what is made of them: z, p and q per pair, kept edges, and the text of graph_mib.json.
  [[nodiscard]] std::size_t result_bytes(std::size_t top) const {
    constexpr std::size_t kPerPair = 60;
    constexpr std::size_t kPerText = 70;
    const HeadSizes& sizes = model_.info().sizes;
    std::size_t pairs = 0;
    std::size_t edges = 0;
    for (const ComponentSide& source : result.sources) {
      for (const ComponentSide& target : result.targets) {
        const std::size_t here = saturating_multiply(source.nodes.size(), target.nodes.size());
        pairs = saturating_add(pairs, here);
        edges = saturating_add(edges, std::min(here, top));
      }
    }
    const std::size_t texts = std::min(kMostMibEdges, saturating_multiply(pairs, sizes.heads / sizes.kv_heads));
    return saturating_add(saturating_multiply(pairs, kPerPair),
                          saturating_add(saturating_multiply(edges, kEdgeBytes), texts * kPerText));
  }

  // The least memory besides the scores: one item on each side, and products of a layer's heads.
  [[nodiscard]] std::size_t least_bytes() const {
    std::size_t source = 0;
    for (const Item& item : sources) source = std::max(source, memory(item).kept + memory(item).making);
    return saturating_add(source, target_bytes());
  }

  [[nodiscard]] std::size_t target_bytes() const {
    const HeadSizes& sizes = model_.info().sizes;
    std::size_t target = 0;
    for (const Item& item : targets) target = std::max(target, memory(item).kept + memory(item).making);
    return target + std::max(sizes.heads * sizes.widest(), sizes.d_model) * sizes.d_model * sizeof(float);
  }

  std::vector<Item> sources;
  std::vector<Item> targets;
  Overlaps result;

 private:
  [[nodiscard]] StreamMatrix matrix(const Item& item) const {
    return {model_, network_, item.part, item.layer, options_.weights, item.expert};
  }

  void add(char letter, bool reads, std::vector<ComponentId> nodes, std::vector<Item> items) {
    std::vector<ComponentSide>& sides = reads ? result.targets : result.sources;
    for (Item& item : items) {
      item.side = sides.size();
      (reads ? targets : sources).push_back(std::move(item));
    }
    ComponentSide side{letter, reads, std::move(nodes)};
    side.columns.resize(side.nodes.size());
    side.ranks.resize(side.nodes.size());
    side.moments.resize(side.nodes.size());
    sides.push_back(std::move(side));
  }

  void add_heads(Role role) {
    const HeadSizes& sizes = model_.info().sizes;
    const bool key_value = is_key_value(role);
    const LayerHeads& heads = selection_.heads(key_value);
    std::vector<ComponentId> nodes;
    std::vector<Item> items;
    for (std::size_t i = 0; i < selection_.layers().size(); ++i) {
      Item item;
      item.heads = true;
      item.role = role;
      item.layer = selection_.layers()[i];
      item.selected = heads.of(i);
      if (item.selected.empty()) continue;  // its queries use the keys and values of another layer
      item.first = nodes.size();
      item.count = item.selected.size();
      for (const std::size_t head : item.selected) {
        nodes.emplace_back(sizes.head_of(item.layer, head, key_value && sizes.kv_heads != sizes.heads));
      }
      items.push_back(std::move(item));
    }
    add(letter(role), role != Role::kO, std::move(nodes), std::move(items));
  }

  void add_rotary_keys() {
    if (const std::string why = why_missing(model_, network_, StreamPart::kRotaryKey); !why.empty()) {
      result.warnings.push_back(fmt::format("no nodes R (rotary-key): {}", why));
      return;
    }
    std::vector<ComponentId> nodes;
    std::vector<Item> items;
    for (const std::size_t layer : selection_.layers()) {
      const ComponentId id(ComponentKind::kRotaryKey, layer);
      add_one(StreamPart::kRotaryKey, layer, id, std::nullopt, nodes, items);
    }
    add('R', /*reads=*/true, std::move(nodes), std::move(items));
  }

  void add_mlps(StreamPart part, bool each_expert) {
    std::vector<ComponentId> nodes;
    std::vector<Item> items;
    for (const std::size_t layer : selection_.layers()) {
      if (network_.layers[layer].block == Block::kDecoder) continue;  // its MLP follows cross-attention
      const ComponentId mlp = mlp_of(layer, model_.info().sizes);
      const auto& experts = network_.layers[layer].experts;
      if (!experts || !each_expert) {
        add_one(part, layer, mlp, std::nullopt, nodes, items);
        continue;
      }
      const std::size_t all = experts->count() + (experts->shared ? 1 : 0);
      for (std::size_t e = 0; e < all; ++e) {
        add_one(part, layer, ComponentId::expert(mlp.layer, e, mlp.block), e, nodes, items);
      }
    }
    add('M', part == StreamPart::kMlpIn, std::move(nodes), std::move(items));
  }

  // A component of a layer, which is counted through all blocks.
  static void add_one(StreamPart part, std::size_t layer, const ComponentId& id, std::optional<std::size_t> expert,
                      std::vector<ComponentId>& nodes, std::vector<Item>& items) {
    Item item;
    item.part = part;
    item.layer = layer;
    item.expert = expert;
    item.first = nodes.size();
    nodes.push_back(id);
    items.push_back(std::move(item));
  }

  void add_part(bool wanted, ComponentKind kind, StreamPart part, const char* name) {
    if (!wanted) return;
    if (const std::string why = why_missing(model_, network_, part); !why.empty()) {
      result.warnings.push_back(fmt::format("no node {} ({}): {}", to_string(ComponentId(kind)), name, why));
      return;
    }
    Item item;
    item.part = part;
    add(to_string(ComponentId(kind)).front(), kind == ComponentKind::kUnembedding, {ComponentId(kind)}, {item});
  }

  const Model& model_;
  const AffinityOptions& options_;
  Network network_;
  HeadSelection selection_;
};

// Fills the scores of a plan.
class Comparison {
 public:
  Comparison(Plan& plan, const Context& context) : plan_(plan), result_(plan.result), context_(context) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t s = 0; s < result_.sources.size(); ++s) {
      for (std::size_t t = 0; t < result_.targets.size(); ++t) {
        const std::size_t rows = result_.sources[s].nodes.size();
        const std::size_t columns = result_.targets[t].nodes.size();
        result_.scores.push_back({s, t, Matrix(rows, columns), Matrix(rows, columns)});
        std::ranges::fill(result_.scores.back().overlap.values(), kNone);
        std::ranges::fill(result_.scores.back().pk.values(), kNone);
      }
    }
  }

  void run() {
    const std::size_t reserved = plan_.target_bytes();
    const std::size_t budget = context_.memory > reserved ? context_.memory - reserved : 0;
    for (std::size_t next = 0; next < plan_.sources.size();) {
      const std::size_t begin = next;
      std::vector<Prepared> part;
      std::size_t used = 0;
      do {
        part.push_back(prepare(plan_.sources[next], result_.sources));
        used += plan_.memory(plan_.sources[next]).kept;
        ++next;
        context_.report(fraction(next, 0));
      } while (next < plan_.sources.size() &&
               used + plan_.memory(plan_.sources[next]).kept + plan_.memory(plan_.sources[next]).making <= budget);
      compare_part(part, begin == 0, next);
    }
  }

  // Takes the scores between heads from affinities pk.
  void add_heads(std::span<const Affinities> heads) {
    for (const Affinities& one : heads) {
      for (ComponentScores& scores : result_.scores) {
        if (result_.pair_name(scores) != to_string(one.pair)) continue;
        for (std::size_t i = 0; i < one.source.heads.size(); ++i) {
          for (std::size_t j = 0; j < one.target.heads.size(); ++j) {
            if (!is_later(one, i, j)) continue;
            const double ranks = static_cast<double>(one.source.ranks[i]) * static_cast<double>(one.target.ranks[j]);
            const double pk = static_cast<double>(one.values(i, j));
            scores.overlap(i, j) = ranks > 0 ? static_cast<float>(pk * static_cast<double>(result_.d) / ranks) : 0;
            scores.pk(i, j) = ranks > 0 ? static_cast<float>(pk / std::sqrt(ranks)) : 0;
          }
        }
      }
    }
  }

 private:
  [[nodiscard]] double fraction(std::size_t source, std::size_t target) const {
    const double parts = static_cast<double>(plan_.sources.size());
    const double done =
        static_cast<double>(target) / static_cast<double>(std::max<std::size_t>(1, plan_.targets.size()));
    return static_cast<double>(source) / parts * (0.3 + 0.7 * done);
  }

  Prepared prepare(const Item& item, std::vector<ComponentSide>& sides) {
    Prepared prepared = plan_.prepare(item);
    ComponentSide& side = sides[item.side];
    for (std::size_t i = 0; i < item.count; ++i) {
      const std::size_t index = item.first + i;
      if (item.heads) {
        const std::size_t rank = prepared.heads.ranks[i];
        const auto p = static_cast<double>(rank);
        side.columns[index] = prepared.heads.values.size() / (item.count * result_.d);
        side.ranks[index] = rank;
        side.moments[index] = rank == 0 ? GramMoments() : GramMoments{1, 1 / p, 1 / (p * p)};
      } else {
        side.columns[index] = prepared.density.count;
        side.ranks[index] = prepared.density.rank;
        side.moments[index] = prepared.density.moments;
      }
    }
    return prepared;
  }

  // Scores between heads are taken from elsewhere.
  [[nodiscard]] bool is_compared(const Item& source, const Item& target) const {
    if (source.heads && target.heads) return false;
    return precedes(result_.sources[source.side].nodes[source.first], result_.targets[target.side].nodes[target.first],
                    result_.parallel);
  }

  // The first time, every target is prepared, because its rank is wanted.
  void compare_part(const std::vector<Prepared>& part, bool all, std::size_t next) {
    for (std::size_t t = 0; t < plan_.targets.size(); ++t) {
      const Item& item = plan_.targets[t];
      const auto needs = [&](const Prepared& source) { return is_compared(*source.item, item); };
      if (!all && std::ranges::none_of(part, needs)) continue;
      const Prepared target = prepare(item, result_.targets);
      for (const Prepared& source : part) {
        if (needs(source)) compare(source, target);
      }
      context_.report(fraction(next, t + 1));
    }
  }

  void compare(const Prepared& source, const Prepared& target) {
    ComponentScores& scores = result_.scores[source.item->side * result_.targets.size() + target.item->side];
    if (!source.item->heads && !target.item->heads) {
      const Density& a = source.density;
      const Density& b = target.density;
      scores.overlap(source.item->first, target.item->first) = overlap(inner_product(a, b));
      if (!a.rank || !b.rank) return;
      scores.pk(source.item->first, target.item->first) = normalized(projection_kernel(a, b), *a.rank, *b.rank);
      return;
    }
    const LayerFactors& heads = source.item->heads ? source.heads : target.heads;
    const Density& density = source.item->heads ? target.density : source.density;
    std::vector<double> values(heads.heads);
    const auto set = [&](Matrix& matrix, std::size_t head, float value) {
      const bool rows = source.item->heads;
      matrix(source.item->first + (rows ? head : 0), target.item->first + (rows ? 0 : head)) = value;
    };
    inner_products(density, heads, values);
    for (std::size_t head = 0; head < heads.heads; ++head) set(scores.overlap, head, overlap(values[head]));
    if (!density.rank) return;
    projection_kernels(density, heads, values);
    for (std::size_t head = 0; head < heads.heads; ++head) {
      set(scores.pk, head, normalized(values[head], heads.ranks[head], *density.rank));
    }
  }

  // Rounding makes the product of densities that share no direction slightly negative (-5e-9 in a compiled program).
  [[nodiscard]] float overlap(double inner) const {
    return static_cast<float>(std::max(0.0, inner) * static_cast<double>(result_.d));
  }
  static float normalized(double pk, std::size_t p, std::size_t q) {
    const double ranks = static_cast<double>(p) * static_cast<double>(q);
    return ranks > 0 ? static_cast<float>(std::max(0.0, pk) / std::sqrt(ranks)) : 0;
  }

  Plan& plan_;
  Overlaps& result_;
  const Context& context_;
};

std::size_t check(const Plan& plan, std::size_t top, const Context& context) {
  const std::size_t results = plan.result_bytes(top);
  require_memory(context, saturating_add(results, plan.least_bytes()), "relate: comparing components");
  return results;
}

}  // namespace

void check_overlaps(const Model& model, const ComponentChoice& choice, std::span<const Role> roles, std::size_t top,
                    const AffinityOptions& options, const Context& context) {
  check(Plan(model, choice, roles, options), top, context);
}

Overlaps compute_overlaps(const Model& model, const ComponentChoice& choice, std::span<const Affinities> heads,
                          const AffinityOptions& options, const Context& context) {
  std::vector<Role> roles;
  for (const Affinities& one : heads) roles.push_back(one.pair.target);
  Plan plan(model, choice, roles, options);
  const Context streaming = context.without_memory(check(plan, 0, context));
  Comparison comparison(plan, streaming);
  comparison.run();
  comparison.add_heads(heads);
  return std::move(plan.result);
}

}  // namespace headscope
