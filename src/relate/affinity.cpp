#include "headscope/relate/affinity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "headscope/base/error.h"
#include "relate/angle_affinity.h"
#include "relate/head_factors.h"
#include "relate/head_selection.h"

namespace headscope {
namespace {

constexpr float kNotComputed = std::numeric_limits<float>::quiet_NaN();

// Some layers' factors in one stack.
struct Chunk {
  std::size_t first_layer = 0;  // index into the chosen layers
  std::size_t layers = 0;
  Buffer<float> values;
};

// All pairs of one source role, metric of products: the sources are prepared in chunks that fit the memory, the targets
// pass by one layer at a time.
class ProductAffinity {
 public:
  ProductAffinity(const Model& model, Metric metric, const AffinityOptions& options, const BlockNorms& engine)
      : model_(model),
        metric_(metric),
        options_(options),
        engine_(engine),
        sizes_(model.info().sizes),
        selection_(sizes_, options.layers, options.heads, options.named_heads) {}

  // `done` and `total` count pairs of layers, for the progress.
  void run(std::span<Affinities*> group, std::size_t& done, std::size_t total) {
    for (Affinities* result : group) begin(*result);
    const FactorKey source_key = factor_key(metric_, group.front()->pair, Side::kSource);
    const std::size_t layers = selection_.layers().size();
    const LayerHeads& heads = chosen(source_key);
    const std::size_t chunks = chunk_count(group.front()->pair);
    for (std::size_t c = 0; c < chunks; ++c) {
      Chunk chunk{c * layers / chunks, (c + 1) * layers / chunks - c * layers / chunks, {}};
      const std::size_t first = heads.before(chunk.first_layer);
      chunk.values = Buffer<float>((heads.before(chunk.first_layer + chunk.layers) - first) * factor_size());
      for (std::size_t i = 0; i < chunk.layers; ++i) {
        const LayerFactors loaded = load(chunk.first_layer + i, source_key);
        const std::size_t row = heads.before(chunk.first_layer + i);
        std::copy_n(loaded.values.data(), loaded.values.size(), chunk.values.data() + (row - first) * factor_size());
        for (Affinities* result : group) describe(result->source, row, loaded);
      }
      for (Affinities* result : group) {
        for (std::size_t target = 0; target < layers; ++target) {
          meet(*result, source_key, chunk, target);
          if (options_.progress) options_.progress(static_cast<double>(++done) / static_cast<double>(total));
        }
      }
    }
    for (Affinities* result : group) finish(*result);
  }

  [[nodiscard]] std::size_t chunk_count(RolePair pair) const {
    const std::size_t layer_bytes =
        chosen(factor_key(metric_, pair, Side::kSource)).most() * factor_size() * sizeof(float);
    const std::size_t fitting = std::max<std::size_t>(1, options_.memory / std::max<std::size_t>(1, layer_bytes));
    return (selection_.layers().size() + fitting - 1) / fitting;
  }
  [[nodiscard]] std::size_t layer_count() const { return selection_.layers().size(); }

 private:
  [[nodiscard]] std::size_t factor_size() const noexcept { return sizes_.d_model * sizes_.d_head; }

  [[nodiscard]] const LayerHeads& chosen(const FactorKey& key) const noexcept {
    return selection_.heads(metric_ != Metric::kCs && is_key_value(key.role));
  }

  [[nodiscard]] LayerFactors load(std::size_t index, const FactorKey& key) const {
    return load_factors(model_, selection_.layers()[index], key, options_.weights, chosen(key).of(index));
  }

  void begin(Affinities& result) const {
    for (const Side side : {Side::kSource, Side::kTarget}) {
      const FactorKey key = factor_key(metric_, result.pair, side);
      const bool key_value = metric_ != Metric::kCs && is_key_value(key.role) && sizes_.kv_heads != sizes_.heads;
      AffinitySide& described = side == Side::kSource ? result.source : result.target;
      for (std::size_t i = 0; i < selection_.layers().size(); ++i) {
        for (const std::size_t head : chosen(key).of(i)) {
          described.heads.push_back({selection_.layers()[i], head, key_value});
        }
      }
      described.ranks.resize(described.heads.size());
      described.moments.resize(described.heads.size());
    }
    result.values = Matrix(result.source.heads.size(), result.target.heads.size());
    std::ranges::fill(result.values.values(), kNotComputed);
  }

  static void describe(AffinitySide& side, std::size_t first_head, const LayerFactors& loaded) {
    const auto first = static_cast<std::ptrdiff_t>(first_head);
    std::ranges::copy(loaded.moments, side.moments.begin() + first);
    std::ranges::copy(loaded.ranks, side.ranks.begin() + first);
  }

  // One target layer against the sources of the chunk that are asked for.
  void meet(Affinities& result, const FactorKey& source_key, const Chunk& chunk, std::size_t target) const {
    const FactorKey target_key = factor_key(metric_, result.pair, Side::kTarget);
    const bool symmetric = source_key == target_key;
    // Symmetric: only the half above the diagonal, which is mirrored later.
    std::size_t end = chunk.first_layer + chunk.layers;
    if (options_.earlier_only) end = std::min(end, target);
    if (symmetric) end = std::min(end, target + 1);
    const bool first_chunk = chunk.first_layer == 0;
    if (end <= chunk.first_layer && !first_chunk) return;

    const LayerHeads& source_heads = chosen(source_key);
    const std::size_t row = source_heads.before(chunk.first_layer);
    const std::size_t column = chosen(target_key).before(target);
    LayerFactors loaded;
    FactorStack targets{nullptr, chosen(target_key).of(target).size(), sizes_.d_head, sizes_.d_model};
    const bool resident = symmetric && target >= chunk.first_layer && target < chunk.first_layer + chunk.layers;
    if (resident) {
      targets.values = chunk.values.data() + (column - row) * factor_size();
    } else {
      loaded = load(target, target_key);
      targets.values = loaded.values.data();
    }
    if (first_chunk && !resident) describe(result.target, column, loaded);
    if (end <= chunk.first_layer) return;
    const FactorStack sources{chunk.values.data(), source_heads.before(end) - row, sizes_.d_head, sizes_.d_model};
    engine_.compute(sources, targets, &result.values(row, column), result.values.columns());
  }

  void finish(Affinities& result) const {
    const bool symmetric =
        factor_key(metric_, result.pair, Side::kSource) == factor_key(metric_, result.pair, Side::kTarget);
    Matrix& values = result.values;
    if (symmetric) {
      result.target = result.source;
      if (!options_.earlier_only) {
        for (std::size_t i = 0; i < values.rows(); ++i) {
          for (std::size_t j = 0; j < i; ++j) values(i, j) = values(j, i);
        }
      }
    }
    if (info(metric_).root) {
      for (float& value : values.values()) value = std::sqrt(value);
    }
  }

  const Model& model_;
  Metric metric_;
  const AffinityOptions& options_;
  const BlockNorms& engine_;
  HeadSizes sizes_;
  HeadSelection selection_;
};

void check_defined(Metric metric, std::span<const RolePair> pairs) {
  for (const RolePair pair : pairs) {
    if (!is_defined(metric, pair)) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("metric '{}' is not defined for pair {}; it is for OQ, OK, OV", info(metric).name,
                              to_string(pair)));
    }
  }
}

}  // namespace

std::vector<Affinities> compute_affinities(const Model& model, Metric metric, std::span<const RolePair> pairs,
                                           const AffinityOptions& options, const BlockNorms& engine) {
  check_defined(metric, pairs);
  std::vector<Affinities> results;
  for (const RolePair pair : pairs) results.push_back({.metric = metric, .pair = pair});
  if (info(metric).angles) {
    for (Affinities& result : results) compute_angle_affinities(model, options, result);
    return results;
  }
  ProductAffinity work(model, metric, options, engine);
  std::size_t total = 0;
  for (const RolePair pair : pairs) total += work.chunk_count(pair) * work.layer_count();
  std::size_t done = 0;
  // Pairs of the same source share its preparation.
  for (const Role role : kRoles) {
    std::vector<Affinities*> group;
    for (Affinities& result : results) {
      if (result.pair.source == role) group.push_back(&result);
    }
    if (!group.empty()) work.run(group, done, total);
  }
  return results;
}

}  // namespace headscope
