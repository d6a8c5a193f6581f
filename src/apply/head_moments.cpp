#include "headscope/apply/head_moments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/base/parallel.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/network.h"

namespace headscope {
namespace {

constexpr std::size_t kBatchTokens = 4096;  // tokens of inputs that run together, if there are several

// Weights of a token: 1 / ||x||^2 and 1 / ||x - ||x|| m||^2, with m the mean of x / ||x||.
using Weights = std::array<double, 2>;

// Sums over tokens with one of the weights w. M is the Gram matrix of O.
struct WeighedSums {
  std::vector<double> image;  // w M u
  double squares = 0;         // w u^T M u
  double weights = 0;         // w
};

// Sums over tokens. u is a head's output times the token's factor, minus a constant near its mean, which changes no
// variance: with a large mean the sums of squares would cancel.
struct Sums {
  std::vector<float> shift;
  std::vector<double> output;   // z
  std::vector<double> shifted;  // u
  std::vector<double> image;    // M u
  std::array<WeighedSums, 2> weighed;
  double tokens = 0;

  [[nodiscard]] double share(const WeighedSums& sums) const {
    double cross = 0;
    double constant = 0;
    for (std::size_t j = 0; j < shifted.size(); ++j) {
      cross += shifted[j] / tokens * sums.image[j];
      constant += shifted[j] / tokens * image[j] / tokens;
    }
    return std::max(0.0, sums.squares - 2 * cross + constant * sums.weights) / tokens;
  }
};

double norm_of(MatrixView x, std::size_t row) {
  double square = 0;
  for (std::size_t j = 0; j < x.columns(); ++j)
    square += static_cast<double>(x(row, j)) * static_cast<double>(x(row, j));
  return std::sqrt(square);
}

// Returns the mean of x / ||x|| before every layer.
std::vector<std::vector<double>> mean_directions(const Model& model, std::span<const ModelInput> inputs,
                                                 const Context& context) {
  std::vector<std::vector<double>> means(model.info().sizes.layers, std::vector<double>(model.info().sizes.d_model));
  std::vector<double> tokens(means.size());
  ForwardOptions pass;
  pass.end_layer = means.size();
  pass.on_stream = [&](const StreamRows& rows) {
    std::vector<double>& mean = means[rows.layer];
    for (std::size_t t = 0; t < rows.values.rows(); ++t) {
      const double norm = norm_of(rows.values, t);
      if (norm == 0) continue;
      for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += static_cast<double>(rows.values(t, j)) / norm;
    }
    tokens[rows.layer] += static_cast<double>(rows.values.rows());
  };
  run_forward(model, inputs, pass, context);
  for (std::size_t layer = 0; layer < means.size(); ++layer) {
    for (double& value : means[layer]) value /= tokens[layer];
  }
  return means;
}

class Moments {
 public:
  Moments(const Model& model, std::size_t inputs, std::vector<std::vector<double>> mean_directions)
      : model_(model),
        mean_directions_(std::move(mean_directions)),
        sizes_(model.info().sizes),
        sums_(sizes_.layers * sizes_.heads),
        grams_(sizes_.heads),
        weights_(inputs),
        outputs_(inputs) {
    const Network network = resolve_network(model);
    for (const NetworkLayer& layer : network.layers) {
      scaled_.push_back(network.order == NormOrder::kPre && layer.norm_after_attention);
    }
  }

  [[nodiscard]] ForwardOptions options() {
    ForwardOptions pass;
    pass.end_layer = sizes_.layers;
    pass.on_stream = [this](const StreamRows& rows) { begin(rows); };
    pass.on_heads = [this](const HeadOutputs& outputs) {
      if (scaled_[outputs.layer]) {
        keep(outputs);
      } else {
        add(outputs.layer, outputs.input, outputs.values, {});
      }
    };
    if (std::ranges::find(scaled_, true) != scaled_.end()) {
      pass.on_norm = [this](const NormFactors& norm) {
        if (norm.after_mlp || !scaled_[norm.layer]) return;
        add(norm.layer, norm.input, outputs_[norm.input].view(), norm.factors);
        outputs_[norm.input] = {};
      };
    }
    return pass;
  }

  [[nodiscard]] HeadMoments result() const {
    HeadMoments moments;
    for (const Sums& sums : sums_) {
      std::vector<float>& mean = moments.means.emplace_back();
      for (const double sum : sums.output) mean.push_back(static_cast<float>(sum / sums.tokens));
      moments.energy.push_back(sums.share(sums.weighed[0]));
      moments.variation.push_back(sums.share(sums.weighed[1]));
    }
    return moments;
  }

 private:
  void begin(const StreamRows& rows) {
    if (rows.layer != layer_) load_grams(rows.layer);
    const std::vector<double>& mean = mean_directions_[rows.layer];
    std::vector<Weights>& weights = weights_[rows.input];
    weights.assign(rows.values.rows(), {});
    for (std::size_t t = 0; t < weights.size(); ++t) {
      Weights squares = {};
      const double norm = norm_of(rows.values, t);
      for (std::size_t j = 0; j < mean.size(); ++j) {
        const auto x = static_cast<double>(rows.values(t, j));
        squares[0] += x * x;
        squares[1] += (x - norm * mean[j]) * (x - norm * mean[j]);
      }
      // A token that equals the mean up to rounding says nothing: its quotient would be rounding over rounding.
      constexpr double kRounding = 1e-12;
      for (std::size_t w = 0; w < squares.size(); ++w) {
        if (squares[w] > kRounding * squares[0]) weights[t][w] = 1 / squares[w];
      }
    }
  }

  void load_grams(std::size_t layer) {
    layer_ = layer;
    const HeadWeights writes = model_.load_heads(layer, Role::kO, WeightProcessing::kRaw);
    parallel_for(sizes_.heads, [&](std::size_t a) {
      grams_[a] = Matrix(writes.d_head(), writes.d_head());
      multiply(writes.head(a).transposed(), writes.head(a), grams_[a].span());
    });
  }

  void keep(const HeadOutputs& outputs) {
    Matrix& kept = outputs_[outputs.input];
    kept = Matrix(outputs.values.rows(), outputs.values.columns());
    for (std::size_t t = 0; t < kept.rows(); ++t) {
      for (std::size_t j = 0; j < kept.columns(); ++j) kept(t, j) = outputs.values(t, j);
    }
  }

  // `factors` is empty or has one number per token.
  void add(std::size_t layer, std::size_t input, MatrixView outputs, std::span<const float> factors) {
    parallel_for(sizes_.heads, [&](std::size_t a) {
      const MatrixView z = outputs.block(0, outputs.rows(), a * grams_[a].rows(), grams_[a].rows());
      add_head(sums_[layer * sizes_.heads + a], grams_[a], z, factors, weights_[input]);
    });
  }

  static void add_head(Sums& sums, const Matrix& gram, MatrixView z, std::span<const float> factors,
                       std::span<const Weights> weights) {
    const std::size_t n = z.rows();
    const std::size_t h = z.columns();
    const auto factor = [&](std::size_t t) { return factors.empty() ? 1.0F : factors[t]; };
    if (sums.shift.empty()) {
      std::vector<double> mean(h);
      for (std::size_t t = 0; t < n; ++t) {
        for (std::size_t j = 0; j < h; ++j) mean[j] += static_cast<double>(factor(t) * z(t, j));
      }
      for (const double sum : mean) sums.shift.push_back(static_cast<float>(sum / static_cast<double>(n)));
      for (auto* list : {&sums.output, &sums.shifted, &sums.image}) list->resize(h);
      for (WeighedSums& weighed : sums.weighed) weighed.image.resize(h);
    }
    Matrix u(n, h);
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t j = 0; j < h; ++j) u(t, j) = factor(t) * z(t, j) - sums.shift[j];
    }
    Matrix image(n, h);
    multiply(u.view(), gram.view(), image.span());
    for (std::size_t t = 0; t < n; ++t) {
      double square = 0;
      for (std::size_t j = 0; j < h; ++j) {
        const auto y = static_cast<double>(image(t, j));
        square += y * static_cast<double>(u(t, j));
        sums.output[j] += static_cast<double>(z(t, j));
        sums.shifted[j] += static_cast<double>(u(t, j));
        sums.image[j] += y;
        for (std::size_t w = 0; w < weights[t].size(); ++w) sums.weighed[w].image[j] += weights[t][w] * y;
      }
      for (std::size_t w = 0; w < weights[t].size(); ++w) {
        sums.weighed[w].squares += weights[t][w] * square;
        sums.weighed[w].weights += weights[t][w];
      }
    }
    sums.tokens += static_cast<double>(n);
  }

  const Model& model_;
  std::vector<std::vector<double>> mean_directions_;  // by layer
  const HeadSizes& sizes_;
  std::vector<Sums> sums_;     // by layer and head
  std::vector<Matrix> grams_;  // of O, by head of the current layer
  std::vector<bool> scaled_;   // by layer: a norm follows O before its output is added to the stream
  std::size_t layer_ = std::numeric_limits<std::size_t>::max();
  std::vector<std::vector<Weights>> weights_;  // by input and token
  std::vector<Matrix> outputs_;                // by input, until the factors of the norm are known
};

}  // namespace

HeadMoments measure_head_moments(const Model& model, std::span<const ModelInput> inputs, const Context& context) {
  if (inputs.empty()) throw Error(ErrorKind::kInvalidArgument, "no inputs to measure what heads write");
  std::size_t total = 0;
  std::size_t longest = 0;
  for (const ModelInput& input : inputs) {
    const std::size_t tokens = token_count(model, input);
    total += tokens;
    longest = std::max(longest, tokens);
  }
  // Weights and outputs of a layer's heads, and two more rows of each head that is worked on. All heads are counted, so
  // that which inputs run together does not depend on the number of threads.
  const HeadSizes& sizes = model.info().sizes;
  const std::size_t width = sizes.heads * sizes.d_head;
  const std::size_t rows =
      sizes.d_model + sizes.d_head + std::min(total, std::max(longest, kBatchTokens)) + 2 * longest;
  constexpr double kHalf = 0.5;
  const Context reduced = context.without_memory(saturating_multiply(rows, width * sizeof(float)));
  Moments moments(model, inputs.size(), mean_directions(model, inputs, reduced.part(0, kHalf)));
  run_forward(model, inputs, moments.options(), reduced.part(kHalf, 1));
  return moments.result();
}

}  // namespace headscope
