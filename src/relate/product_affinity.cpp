#include "relate/product_affinity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "headscope/relate/weight_variant.h"
#include "relate/head_factors.h"
#include "relate/head_selection.h"
#include "relate/layer_owner.h"
#include "relate/pair_rows.h"

namespace headscope {
namespace {

using Layers = std::vector<std::size_t>;  // indices into the selected layers

// One role pair, and what remains to be computed.
struct Pair {
  PairRows rows;
  FactorKey target_key;
  bool symmetric = false;                  // source and target have the same factors: half is computed, then mirrored
  std::vector<std::uint8_t> missing = {};  // [own source][target]
  std::vector<std::uint8_t> needed = {};   // [chunk][target]: needed by any rank
};

// The pairs of one source role, which share the prepared sources.
struct Group {
  FactorKey source_key;
  std::vector<Pair> pairs = {};
  std::vector<Layers> chunks = {};  // own sources that are prepared together; all ranks have the same number of chunks
};

// A target layer passing around the ring.
struct Target {
  std::size_t layer = 0;
  std::unique_ptr<PreparedLayer> owned = {};
  const PreparedLayer* prepared = nullptr;  // `owned`, or one of the sources; null if there is none
  std::vector<std::byte> packed = {};       // as received
};

// Waits for the engine on destruction, so that nothing it uses is destroyed earlier, even if an exception is thrown.
class WaitOnExit {
 public:
  explicit WaitOnExit(const AffinityEngine& engine) : engine_(engine) {}
  WaitOnExit(const WaitOnExit&) = delete;
  WaitOnExit& operator=(const WaitOnExit&) = delete;
  ~WaitOnExit() {
    try {
      engine_.wait();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the first error is already being thrown
    }
  }

 private:
  const AffinityEngine& engine_;
};

class ProductAffinity {
 public:
  ProductAffinity(const Model& model, const AffinityOptions& options, const Context& context, FinishedBlocks* finished,
                  std::span<Affinities> results)
      : model_(model),
        metric_(results.front().metric),
        options_(options),
        context_(context),
        owned_engine_(context.affinity_engine ? nullptr : cpu_affinity_engine()),
        engine_(context.affinity_engine ? *context.affinity_engine : *owned_engine_),
        ranks_(context.ranks),
        sizes_(model.info().sizes),
        selection_(sizes_, options.layers, options.heads, options.named_heads) {
    for (const Role role : kRoles) {
      Group group{factor_key(metric_, {role, role}, Side::kSource)};
      for (Affinities& result : results) {
        if (result.pair.source != role) continue;
        const FactorKey target = factor_key(metric_, result.pair, Side::kTarget);
        group.pairs.push_back(
            {PairRows(result, sizes_, selection_, ranks_, finished), target, group.source_key == target});
      }
      if (!group.pairs.empty()) groups_.push_back(std::move(group));
    }
  }

  void run() {
    for (Group& group : groups_) plan(group);
    planned_ = planned_work();
    for (Group& group : groups_) {
      for (std::size_t chunk = 0; chunk < group.chunks.size(); ++chunk) run_chunk(group, chunk);
    }
    for (Group& group : groups_) describe_rest(group);
    for (Group& group : groups_) {
      for (Pair& pair : group.pairs) finish(pair);
    }
  }

 private:
  using Prepared = std::map<std::size_t, std::unique_ptr<PreparedLayer>>;  // by layer

  [[nodiscard]] std::size_t layers() const noexcept { return selection_.layers().size(); }
  [[nodiscard]] Layers own_layers() const { return layers_of(ranks_.rank(), ranks_.size(), layers()); }
  [[nodiscard]] const LayerHeads& heads(const FactorKey& key) const noexcept {
    return selection_.heads(!info(metric_).by_query_head() && is_key_value(key.role));
  }

  [[nodiscard]] BlockLayer place(std::size_t layer) const noexcept { return sizes_.place(selection_.layers()[layer]); }
  [[nodiscard]] bool precedes(std::size_t source, std::size_t target, RolePair roles) const noexcept {
    return headscope::precedes(place(source), roles.source, place(target), roles.target);
  }

  // Whether a block is requested. Of a symmetric pair, only the half above the diagonal, which is mirrored at the end.
  [[nodiscard]] bool is_wanted(const Pair& pair, std::size_t source, std::size_t target) const noexcept {
    const RolePair roles = pair.rows.result().pair;
    const bool none =
        pair.rows.heads(Side::kSource).of(source).empty() || pair.rows.heads(Side::kTarget).of(target).empty();
    const bool earlier = precedes(source, target, roles) || (pair.symmetric && precedes(target, source, roles));
    const bool related = stream_of(place(source).block, roles.source) == stream_of(place(target).block, roles.target);
    return !none && related && (!options_.earlier_only || earlier) && !(pair.symmetric && source > target);
  }

  void plan(Group& group) {
    Layers sources;
    for (const std::size_t source : own_layers()) {
      bool any = false;
      for (Pair& pair : group.pairs) {
        pair.missing.resize(layers() * layers());
        for (std::size_t target = 0; target < layers(); ++target) {
          const bool missing = is_wanted(pair, source, target) && !pair.rows.restore(source, target);
          pair.missing[source * layers() + target] = missing ? 1 : 0;
          any = any || missing;
        }
      }
      if (any) sources.push_back(source);
    }
    const std::size_t fitting = fitting_sources(group);
    const std::size_t chunks = ranks_.all_reduce_max((sources.size() + fitting - 1) / fitting);
    for (std::size_t c = 0; c < chunks; ++c) {
      const auto begin = sources.begin() + static_cast<std::ptrdiff_t>(c * sources.size() / chunks);
      const auto end = sources.begin() + static_cast<std::ptrdiff_t>((c + 1) * sources.size() / chunks);
      group.chunks.emplace_back(begin, end);
    }
    for (Pair& pair : group.pairs) {
      pair.needed.assign(chunks * layers(), 0);
      for (std::size_t c = 0; c < chunks; ++c) {
        for (const std::size_t source : group.chunks[c]) {
          for (std::size_t target = 0; target < layers(); ++target) {
            pair.needed[c * layers() + target] |= pair.missing[source * layers() + target];
          }
        }
      }
      pair.needed = ranks_.all_reduce_or(std::move(pair.needed));
    }
  }

  // Number of source layers that fit in memory, besides the two target layers present at the same time: the one being
  // multiplied and the next. Their packed copies, one being sent and one being received, are not counted.
  [[nodiscard]] std::size_t fitting_sources(const Group& group) const {
    const auto bytes = [&](const FactorKey& key) {
      return std::max<std::size_t>(1,
                                   engine_.layer_bytes(heads(key).most(), sizes_.d_model, factor_width(key, sizes_)));
    };
    std::size_t target = 0;
    for (const Pair& pair : group.pairs) target = std::max(target, bytes(pair.target_key));
    const std::size_t beside = 2 * target;
    // Targets are not part of the budget of the CPU, which the caller has reduced by them.
    const std::size_t room = engine_.capacity(context_.memory + beside);
    return std::max<std::size_t>(1, (room > beside ? room - beside : 0) / bytes(group.source_key));
  }

  // The targets of `owner` that a chunk needs, ascending.
  [[nodiscard]] Layers queue(const Pair& pair, std::size_t chunk, std::size_t owner) const {
    Layers targets;
    for (const std::size_t target : layers_of(owner, ranks_.size(), layers())) {
      if (pair.needed[chunk * layers() + target] != 0) targets.push_back(target);
    }
    return targets;
  }

  // What this rank will prepare and multiply, in flops.
  [[nodiscard]] double planned_work() const {
    double work = 0;
    for (const Group& group : groups_) {
      for (std::size_t c = 0; c < group.chunks.size(); ++c) {
        const Layers& sources = group.chunks[c];
        for (const std::size_t source : sources) work += preparation(group.source_key, source);
        for (const Pair& pair : group.pairs) {
          for (const std::size_t target : queue(pair, c, ranks_.rank())) {
            if (!is_resident(pair, sources, target)) work += preparation(pair.target_key, target);
          }
          for (const std::size_t source : sources) {
            for (std::size_t target = 0; target < layers(); ++target) {
              if (pair.missing[source * layers() + target] != 0) work += flops(pair, source, target);
            }
          }
        }
      }
    }
    return work;
  }

  // Work of preparing one layer's heads: reading a head and computing its basis in double takes about as long as a
  // product of this many flops.
  [[nodiscard]] double preparation(const FactorKey& key, std::size_t layer) const {
    const std::size_t h = factor_width(key, sizes_);
    const double head = 16 * static_cast<double>(sizes_.d_model * h * h);
    return static_cast<double>(heads(key).of(layer).size()) * head;
  }

  // Number of turns; in each, every rank contributes one of its own targets.
  [[nodiscard]] std::size_t turns(const Pair& pair, std::size_t chunk) const {
    std::size_t most = 0;
    for (std::size_t owner = 0; owner < ranks_.size(); ++owner) {
      most = std::max(most, queue(pair, chunk, owner).size());
    }
    return most;
  }

  [[nodiscard]] double flops(const Pair& pair, std::size_t source, std::size_t target) const {
    const std::size_t pairs =
        pair.rows.heads(Side::kSource).of(source).size() * pair.rows.heads(Side::kTarget).of(target).size();
    const double share = pair.symmetric && source == target ? 0.5 : 1;
    const RolePair roles = pair.rows.result().pair;
    const std::size_t columns = pairs * sizes_.width(roles.source) * sizes_.width(roles.target);
    return share * 2 * static_cast<double>(columns) * static_cast<double>(sizes_.d_model);
  }

  [[nodiscard]] std::unique_ptr<PreparedLayer> prepare(const FactorKey& key, std::size_t layer) {
    const std::vector<std::size_t>& chosen = heads(key).of(layer);
    const WeightProcessing weights = options_.variant ? WeightProcessing::kRaw : options_.weights;
    weights_ = load_weights(model_, selection_.layers()[layer], key, weights, chosen, std::move(weights_));
    if (options_.variant) {
      weights_.joint_rank = 0;  // what a variant subtracts may be outside
      options_.variant->apply(model_, selection_.layers()[layer], weights_.outer);
      options_.variant->apply(model_, selection_.layers()[layer], weights_.inner);
    }
    auto prepared = engine_.prepare(weights_);
    report(preparation(key, layer));
    return prepared;
  }

  void run_chunk(Group& group, std::size_t chunk) {
    Prepared sources;
    for (const std::size_t layer : group.chunks[chunk]) {
      sources[layer] = prepare(group.source_key, layer);
      describe(group, layer, *sources[layer]);
    }
    for (Pair& pair : group.pairs) run_ring(pair, chunk, sources);
  }

  static void describe(Group& group, std::size_t source, const PreparedLayer& prepared) {
    for (Pair& pair : group.pairs) pair.rows.describe(Side::kSource, source, prepared.moments, prepared.ranks);
  }

  // Passes all targets that the chunk needs around the ring, as many at a time as there are ranks: each rank prepares
  // one of its own, multiplies it while it is sent to the next rank, and receives another one from the previous rank.
  void run_ring(Pair& pair, std::size_t chunk, const Prepared& sources) {
    const std::size_t turn_count = turns(pair, chunk);
    const Layers own = queue(pair, chunk, ranks_.rank());
    Target next = take_own(pair, own, 0, sources);
    for (std::size_t turn = 0; turn < turn_count; ++turn) {
      Target here = std::exchange(next, {});
      for (std::size_t step = 0; step < ranks_.size(); ++step) {
        const WaitOnExit guard(engine_);
        const bool last = step + 1 == ranks_.size();
        if (!last) give(here);
        begin(pair, here, sources);
        if (last) next = take_own(pair, own, turn + 1, sources);
        end(pair, here, sources);
        if (!last) here = take();
      }
    }
  }

  [[nodiscard]] static bool is_resident(const Pair& pair, const Layers& sources, std::size_t target) {
    return pair.symmetric && std::ranges::find(sources, target) != sources.end();
  }

  // Returns the rank's next own target; empty if there are no more.
  [[nodiscard]] Target take_own(Pair& pair, const Layers& own, std::size_t turn, const Prepared& sources) {
    Target target;
    if (turn >= own.size()) return target;
    target.layer = own[turn];
    const auto found = sources.find(target.layer);
    if (pair.symmetric && found != sources.end()) {
      target.prepared = found->second.get();
    } else {
      target.owned = prepare(pair.target_key, target.layer);
      target.prepared = target.owned.get();
      if (!pair.symmetric) {
        pair.rows.describe(Side::kTarget, target.layer, target.prepared->moments, target.prepared->ranks);
      }
    }
    return target;
  }

  void give(Target& target) {
    if (target.prepared != nullptr && target.packed.empty()) {
      const std::span<const std::byte> number = std::as_bytes(std::span(&target.layer, 1));
      target.packed = engine_.pack(*target.prepared);
      target.packed.insert(target.packed.end(), number.begin(), number.end());
    }
    ranks_.begin_shift(std::move(target.packed));
  }

  [[nodiscard]] Target take() {
    Target target;
    target.packed = ranks_.finish_shift();
    if (target.packed.size() <= sizeof target.layer) return target;
    const std::span<const std::byte> layer = std::span(target.packed).first(target.packed.size() - sizeof target.layer);
    std::memcpy(&target.layer, layer.data() + layer.size(), sizeof target.layer);
    target.owned = engine_.unpack(layer);
    target.prepared = target.owned.get();
    return target;
  }

  [[nodiscard]] bool is_due(const Pair& pair, std::size_t source, const Target& target) const {
    return target.prepared != nullptr && pair.missing[source * layers() + target.layer] != 0;
  }

  // Starts the products in parts, between which the work can be stopped.
  void begin(Pair& pair, const Target& target, const Prepared& sources) {
    constexpr double kPart = 5e10;  // flops: half a second on one CPU core, an instant on a device
    std::vector<LayerBlock> blocks;
    double part = 0;
    for (const auto& [layer, source] : sources) {
      if (!is_due(pair, layer, target)) continue;
      const MatrixSpan out = pair.rows.block(layer, target.layer);
      blocks.push_back({source.get(), target.prepared, out.data(), out.row_stride()});
      part += flops(pair, layer, target.layer);
      if (part < kPart) continue;
      compute(blocks, part);
    }
    compute(blocks, part);
  }

  void compute(std::vector<LayerBlock>& blocks, double& part) {
    if (blocks.empty()) return;
    engine_.compute(blocks);
    report(part);
    blocks.clear();
    part = 0;
  }

  void end(Pair& pair, const Target& target, const Prepared& sources) {
    engine_.wait();
    for (const auto& [layer, source] : sources) {
      if (is_due(pair, layer, target)) pair.rows.keep(layer, target.layer);
    }
  }

  // Layers that were not multiplied still need their moments and ranks.
  void describe_rest(Group& group) {
    for (const std::size_t layer : own_layers()) {
      bool known = true;
      for (Pair& pair : group.pairs) known = pair.rows.is_described(Side::kSource, layer) && known;
      if (!known) describe(group, layer, *prepare(group.source_key, layer));
      for (Pair& pair : group.pairs) {
        if (pair.symmetric || pair.rows.is_described(Side::kTarget, layer)) continue;
        const auto prepared = prepare(pair.target_key, layer);
        pair.rows.describe(Side::kTarget, layer, prepared->moments, prepared->ranks);
      }
    }
  }

  void finish(Pair& pair) const {
    pair.rows.gather();
    if (!ranks_.is_root()) return;
    Affinities& result = pair.rows.result();
    Matrix& values = result.values;
    if (pair.symmetric) {
      result.target = result.source;
      for (std::size_t i = 0; i < values.rows(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const bool mirrored = !options_.earlier_only || is_later(result, i, j);
          if (mirrored) values(i, j) = values(j, i);
          if (mirrored && options_.earlier_only) values(j, i) = std::numeric_limits<float>::quiet_NaN();
        }
      }
    }
    if (info(metric_).root) {
      for (float& value : values.values()) value = std::sqrt(value);
    }
  }

  // Adds `work` to what is done. The end is reported by the caller.
  void report(double work) {
    done_ += work;
    if (done_ < planned_) context_.report(done_ / planned_);
  }

  const Model& model_;
  Metric metric_;
  const AffinityOptions& options_;
  const Context& context_;
  std::unique_ptr<AffinityEngine> owned_engine_;  // the CPU's, unless the context has one
  const AffinityEngine& engine_;
  Ranks& ranks_;
  HeadSizes sizes_;
  HeadSelection selection_;
  std::vector<Group> groups_;
  FactorWeights weights_;  // of the last prepared layer
  double planned_ = 0;     // work, in flops
  double done_ = 0;
};

}  // namespace

void compute_product_affinities(const Model& model, const AffinityOptions& options, const Context& context,
                                FinishedBlocks* finished, std::span<Affinities> results) {
  if (!results.empty()) ProductAffinity(model, options, context, finished, results).run();
}

}  // namespace headscope
