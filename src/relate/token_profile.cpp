#include "headscope/relate/token_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "headscope/base/buffer.h"
#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/linalg/block_norms.h"
#include "relate/direction_tails.h"
#include "relate/head_factors.h"
#include "relate/token_rows.h"

namespace headscope {
namespace {

// Best first; a strict total order, so the best tokens do not depend on the order in which they come.
bool is_better(const TokenScore& a, const TokenScore& b) {
  return a.score != b.score ? a.score > b.score : a.token < b.token;
}

// Keeps the best, as a heap with the worst of them on top.
void offer(std::vector<TokenScore>& best, std::size_t most, const TokenScore& candidate) {
  if (best.size() == most) {
    if (best.empty() || !is_better(candidate, best.front())) return;
    std::ranges::pop_heap(best, is_better);
    best.pop_back();
  }
  best.push_back(candidate);
  std::ranges::push_heap(best, is_better);
}

void check(const Model& model, const HeadRole& subspace) {
  const HeadSizes& sizes = model.info().sizes;
  const HeadId id = subspace.head;
  const bool key_value = is_key_value(subspace.role) && sizes.kv_heads != sizes.heads;
  const std::size_t heads =
      id.key_value ? sizes.heads_of(sizes.layer_of(id.place()).value_or(0), Role::kK) : sizes.heads;
  std::string trouble;
  if (!sizes.layer_of(id)) {
    trouble = sizes.has_blocks() ? fmt::format("the model has {}", sizes.text())
                                 : fmt::format("the model has {} layers of {} {}heads", sizes.layers, heads,
                                               id.key_value ? "KV " : "");
  } else if (key_value && !id.key_value) {
    const std::size_t layer = sizes.layer_of(id).value();
    const HeadId own = sizes.head_of(sizes.kv_layer(layer), id.head / sizes.queries_per_kv(layer), /*key_value=*/true);
    trouble = fmt::format("it shares its {} with {}", letter(subspace.role), to_string(own));
  } else if (key_value != id.key_value) {
    trouble =
        fmt::format("query heads have that role, such as {}", to_string(HeadId{id.layer, id.head, false, id.block}));
  }
  if (trouble.empty()) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}: role {} of head {} requested, but {}", model.checkpoint().path().string(),
                          letter(subspace.role), to_string(id), trouble));
}

// Profiles the requested subspaces, in parts that fit in memory.
class Profiler {
 public:
  Profiler(const Model& model, const TokenProfileOptions& options, const Context& context)
      : model_(model),
        options_(options),
        context_(context),
        d_(model.info().sizes.d_model),
        h_(model.info().sizes.widest()) {}

  std::vector<TokenProfile> run(std::span<const HeadRole> subspaces) {
    for (const HeadRole& subspace : subspaces) {
      check(model_, subspace);
      profiles_.push_back({.subspace = subspace});
    }
    if (profiles_.empty()) return {};
    const TokenRows rows(model_, options_);
    // Sorted so that matrices of the same layer and role are read together.
    std::vector<TokenProfile*> order;
    for (TokenProfile& profile : profiles_) order.push_back(&profile);
    std::ranges::stable_sort(order, {}, [](const TokenProfile* profile) {
      const HeadRole& s = profile->subspace;
      return std::tuple(s.head.block, s.head.layer, s.role, s.head.head);
    });
    const std::size_t fitting = std::max<std::size_t>(1, context_.memory / ((d_ * h_ + rows.count()) * sizeof(float)));
    const std::size_t parts = (order.size() + fitting - 1) / fitting;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t begin = part * order.size() / parts;
      const std::size_t end = (part + 1) * order.size() / parts;
      scan(rows, std::span(order).subspan(begin, end - begin),
           context_.part(static_cast<double>(part) / static_cast<double>(parts),
                         static_cast<double>(part + 1) / static_cast<double>(parts)));
    }
    return std::move(profiles_);
  }

 private:
  // Compares all tokens with some subspaces.
  void scan(const TokenRows& rows, std::span<TokenProfile* const> part, const Context& context) {
    const Buffer<float> bases = load_bases(part);
    const std::size_t block = std::min(std::max<std::size_t>(1, options_.block), rows.count());
    Buffer<float> tokens(block * d_);
    Buffer<float> squares(part.size() * rows.count());
    for (std::size_t first = 0; first < rows.count(); first += block) {
      const std::size_t count = std::min(block, rows.count() - first);
      rows.read_centered(first, count, tokens.data());
      engine_->compute({bases.data(), part.size(), h_, d_}, {tokens.data(), count, 1, d_}, squares.data() + first,
                       rows.count());
      parallel_for(part.size(), [&](std::size_t i) {
        for (std::size_t t = 0; t < count; ++t) {
          const double square = static_cast<double>(squares.data()[i * rows.count() + first + t]);
          offer(part[i]->top, options_.top, {first + t, std::sqrt(square)});
        }
      });
      context.report(static_cast<double>(first + count) / static_cast<double>(rows.count()));
    }
    parallel_for(part.size(), [&](std::size_t i) {
      TokenProfile& profile = *part[i];
      std::ranges::sort(profile.top, is_better);
      const std::vector<DirectionTail> tails = direction_tails(squares.values().subspan(i * rows.count(), rows.count()),
                                                               profile.rank, d_, profile.top.size());
      for (std::size_t t = 0; t < tails.size(); ++t) {
        profile.top[t].log10_p = tails[t].log10_p;
        profile.top[t].q = tails[t].q;
      }
    });
  }

  Buffer<float> load_bases(std::span<TokenProfile* const> part) const {
    const std::size_t size = d_ * h_;
    Buffer<float> bases(part.size() * size);
    for (std::size_t begin = 0; begin < part.size();) {
      const HeadRole& first = part[begin]->subspace;
      std::vector<std::size_t> heads;
      for (std::size_t i = begin; i < part.size(); ++i) {
        const HeadRole& next = part[i]->subspace;
        if (next.head.block != first.head.block || next.head.layer != first.head.layer || next.role != first.role)
          break;
        heads.push_back(next.head.head);
      }
      const FactorKey key{Metric::kPk, first.role, Side::kSource};
      const LayerFactors loaded =
          load_factors(model_, model_.info().sizes.layer_of(first.head).value(), key, options_.weights, heads);
      const std::size_t own = loaded.values.size() / heads.size();  // narrower roles are filled up with zeros
      for (std::size_t i = 0; i < heads.size(); ++i) {
        const std::span<float> basis = bases.values().subspan((begin + i) * size, size);
        std::ranges::fill(std::ranges::copy(loaded.values.values().subspan(i * own, own), basis.begin()).out,
                          basis.end(), 0.0F);
        part[begin + i]->rank = loaded.ranks[i];
      }
      begin += heads.size();
    }
    return bases;
  }

  const Model& model_;
  const TokenProfileOptions& options_;
  const Context& context_;
  std::unique_ptr<BlockNorms> engine_ = cpu_block_norms();
  std::size_t d_;
  std::size_t h_;
  std::vector<TokenProfile> profiles_;
};

}  // namespace

std::vector<TokenProfile> token_profiles(const Model& model, std::span<const HeadRole> subspaces,
                                         const TokenProfileOptions& options, const Context& context) {
  return Profiler(model, options, context).run(subspaces);
}

}  // namespace headscope
