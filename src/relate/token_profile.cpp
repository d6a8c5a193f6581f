#include "headscope/relate/token_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "headscope/base/buffer.h"
#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/base/tails.h"
#include "headscope/io/decode.h"
#include "headscope/linalg/block_norms.h"
#include "relate/head_factors.h"

namespace headscope {
namespace {

// Rows per iteration of a parallel loop. Fixed, because it determines the order in which the mean is summed.
constexpr std::size_t kStripRows = 512;

// A row this close to the mean, relative to the typical length of a row, is the mean: a different float of that size
// differs by at least 2^-24, while the sum over the vocabulary has errors of 2^-53 per addition.
constexpr double kEqualsMean = 1e-10;

std::size_t divide_up(std::size_t count, std::size_t size) {
  return (count + size - 1) / size;
}

// The rows w_t of the vocabulary, and e_t computed from them.
class TokenRows {
 public:
  TokenRows(const Model& model, const TokenProfileOptions& options)
      : checkpoint_(model.checkpoint()), tensor_(find(model, options.matrix)), d_(tensor_.shape[1]) {
    const DTypeInfo& type = info(tensor_.dtype);
    row_bytes_ = d_ / type.block_elements * type.block_bytes;
    count_ = tensor_.shape[0];
    if (options.vocabulary_size != 0) count_ = std::min(count_, options.vocabulary_size);
    find_mean();
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  // Writes e_t of the tokens [first, first + count), one after another.
  void read_centered(std::size_t first, std::size_t count, float* out) const {
    parallel_for(divide_up(count, kStripRows), [&](std::size_t strip) {
      const std::size_t end = std::min(count, (strip + 1) * kStripRows);
      for (std::size_t i = strip * kStripRows; i < end; ++i) {
        const std::span<float> row(out + i * d_, d_);
        decode_row(first + i, row);
        center(row);
      }
    });
  }

 private:
  static const StoredTensor& find(const Model& model, TokenMatrix matrix) {
    const ModelInfo& info = model.info();
    const bool embedding = matrix == TokenMatrix::kEmbedding;
    const StoredTensor* tensor = model.checkpoint().find(embedding ? info.embedding : info.unembedding);
    if (tensor == nullptr) {
      throw Error(ErrorKind::kUnsupported,
                  fmt::format("{}: has no {} to profile tokens with{}", model.checkpoint().path().string(),
                              embedding ? "embedding" : "unembedding",
                              !embedding && !info.embedding.empty() ? "; use its embedding instead" : ""));
    }
    const std::string file = model.checkpoint().file_of(*tensor).string();
    if (tensor->shape.size() != 2 || tensor->shape[1] != info.sizes.d_model) {
      throw Error(ErrorKind::kUnsupported,
                  fmt::format("{}: tensor '{}' is {}, but token profiles need rows as wide as the residual stream, {}",
                              file, printable(tensor->name), to_string(tensor->shape), info.sizes.d_model));
    }
    if (model.checkpoint().find(tensor->name + "_scale_inv") != nullptr) {
      throw Error(ErrorKind::kUnsupported, fmt::format("{}: tensor '{}' has a scale per block, which token "
                                                       "profiles do not support; expected plain weights",
                                                       file, printable(tensor->name)));
    }
    return *tensor;
  }

  void decode_row(std::size_t token, std::span<float> row) const {
    decode(tensor_.dtype, tensor_.bytes.subspan(token * row_bytes_, row_bytes_), row);
  }

  // Sums each strip separately, then the strips in order: the same for any number of threads.
  void find_mean() {
    const std::size_t strips = divide_up(count_, kStripRows);
    DoubleMatrix sums(strips, d_);
    std::vector<double> squares(strips);
    std::vector<std::optional<std::size_t>> non_finite(strips);
    parallel_for(strips, [&](std::size_t strip) {
      std::vector<float> row(d_);
      const std::span<double> sum = sums.row(strip);
      double square = 0;
      const std::size_t end = std::min(count_, (strip + 1) * kStripRows);
      for (std::size_t token = strip * kStripRows; token < end; ++token) {
        decode_row(token, row);
        if (const auto found = find_non_finite(row); found && !non_finite[strip]) {
          non_finite[strip] = token * d_ + *found;
        }
        for (std::size_t j = 0; j < d_; ++j) {
          const double value = static_cast<double>(row[j]);
          sum[j] += value;
          square += value * value;
        }
      }
      squares[strip] = square;
    });
    mean_.assign(d_, 0);
    for (std::size_t strip = 0; strip < strips; ++strip) {
      if (non_finite[strip]) reject_non_finite(*non_finite[strip]);
      for (std::size_t j = 0; j < d_; ++j) mean_[j] += sums(strip, j);
    }
    for (double& value : mean_) value /= static_cast<double>(count_);
    const double square = std::accumulate(squares.begin(), squares.end(), 0.0) / static_cast<double>(count_);
    least_square_ = kEqualsMean * kEqualsMean * square;
  }

  [[noreturn]] void reject_non_finite(std::size_t index) const {
    throw Error(ErrorKind::kNumeric,
                fmt::format("{}: tensor '{}' holds NaN or Inf at index [{}, {}], expected finite weights",
                            checkpoint_.file_of(tensor_).string(), printable(tensor_.name), index / d_, index % d_));
  }

  void center(std::span<float> row) const {
    double square = 0;
    for (std::size_t j = 0; j < d_; ++j) {
      const double difference = static_cast<double>(row[j]) - mean_[j];
      square += difference * difference;
    }
    const double factor = square <= least_square_ ? 0 : 1 / std::sqrt(square);
    for (std::size_t j = 0; j < d_; ++j) {
      row[j] = static_cast<float>((static_cast<double>(row[j]) - mean_[j]) * factor);
    }
  }

  const Checkpoint& checkpoint_;
  const StoredTensor& tensor_;
  std::size_t d_;
  std::size_t row_bytes_ = 0;
  std::size_t count_ = 0;
  std::vector<double> mean_;
  double least_square_ = 0;  // squared; a row at most this far from the mean is the mean
};

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

// The significance of the best of all scores of one subspace.
class TokenTails {
 public:
  // `squares`: all squared scores, which are sorted. The subspace has rank p in R^d.
  TokenTails(std::span<float> squares, std::size_t p, std::size_t d)
      : squares_(squares), a_(static_cast<double>(p) / 2), b_(static_cast<double>(d - p) / 2) {
    std::ranges::sort(squares_, std::greater<>());
  }

  // Sets p and q of the best tokens, best first.
  void describe(std::span<TokenScore> best) const {
    const std::size_t total = squares_.size();
    double least = -std::log(static_cast<double>(total));  // of log(p_s / s): q is at most 1
    if (best.size() < total) search(best.size() + 1, total, log_p(best.size() + 1), least);
    for (std::size_t s = best.size(); s > 0; --s) {
      const double tail = log_p(s);
      least = std::min(least, tail - std::log(static_cast<double>(s)));
      best[s - 1].log10_p = tail / std::numbers::ln10;
      best[s - 1].q = std::min(1.0, static_cast<double>(total) * std::exp(least));
    }
  }

 private:
  // Logarithm of p of the s-th best.
  [[nodiscard]] double log_p(std::size_t s) const {
    if (a_ == 0 || b_ == 0) return 0;
    return log_beta_upper_tail(std::min(static_cast<double>(squares_[s - 1]), 1 - 0x1p-23), a_, b_);
  }

  // Lowers `least` to the minimum of log(p_s / s) over [first, last]. p grows with s, so log(p_first / last) bounds it:
  // of 50,000 tokens, a few hundred are evaluated.
  void search(std::size_t first, std::size_t last, double log_p_first, double& least) const {
    if (log_p_first - std::log(static_cast<double>(last)) >= least) return;
    least = std::min(least, log_p_first - std::log(static_cast<double>(first)));
    if (first == last) return;
    const std::size_t middle = first + (last - first) / 2;
    search(first, middle, log_p_first, least);
    search(middle + 1, last, log_p(middle + 1), least);
  }

  std::span<float> squares_;
  double a_;
  double b_;
};

void check(const Model& model, const HeadRole& subspace) {
  const HeadSizes& sizes = model.info().sizes;
  const HeadId id = subspace.head;
  const bool key_value = is_key_value(subspace.role) && sizes.kv_heads != sizes.heads;
  const std::size_t heads = id.key_value ? sizes.kv_heads : sizes.heads;
  std::string trouble;
  if (id.layer >= sizes.layers || id.head >= heads) {
    trouble = fmt::format("the model has {} layers of {} {}heads", sizes.layers, heads, id.key_value ? "KV " : "");
  } else if (key_value && !id.key_value) {
    const HeadId own{id.layer, id.head / (sizes.heads / sizes.kv_heads), true};
    trouble = fmt::format("it shares its {} with {}", letter(subspace.role), to_string(own));
  } else if (key_value != id.key_value) {
    trouble = fmt::format("query heads have that role, such as {}", to_string(HeadId{id.layer, id.head}));
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
        h_(model.info().sizes.d_head) {}

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
      return std::tuple(s.head.layer, s.role, s.head.head);
    });
    const std::size_t fitting = std::max<std::size_t>(1, context_.memory / ((d_ * h_ + rows.count()) * sizeof(float)));
    const std::size_t parts = divide_up(order.size(), fitting);
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
      TokenTails(squares.values().subspan(i * rows.count(), rows.count()), profile.rank, d_).describe(profile.top);
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
        if (next.head.layer != first.head.layer || next.role != first.role) break;
        heads.push_back(next.head.head);
      }
      const FactorKey key{Metric::kPk, first.role, Side::kSource};
      const LayerFactors loaded = load_factors(model_, first.head.layer, key, options_.weights, heads);
      std::ranges::copy(loaded.values.values(), bases.data() + begin * size);
      for (std::size_t i = 0; i < heads.size(); ++i) part[begin + i]->rank = loaded.ranks[i];
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
