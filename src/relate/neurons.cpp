#include "headscope/relate/neurons.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <tuple>

#include "headscope/base/parallel.h"
#include "headscope/linalg/block_norms.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/network.h"
#include "headscope/model/stream_matrix.h"
#include "headscope/relate/component.h"
#include "headscope/relate/null_model.h"
#include "relate/direction_tails.h"
#include "relate/head_factors.h"
#include "relate/token_rows.h"

namespace headscope {
namespace {

constexpr std::size_t kBlock = 2048;  // vectors read at a time

// Scales a vector to unit length; a zero vector stays zero. Returns whether it has a length.
bool normalize(std::span<float> vector) {
  double square = 0;
  for (const float value : vector) square += static_cast<double>(value) * static_cast<double>(value);
  if (!(square > 0)) return false;
  const double factor = 1 / std::sqrt(square);
  for (float& value : vector) value = static_cast<float>(static_cast<double>(value) * factor);
  return true;
}

// How many items of this size fit in memory; at least one.
std::size_t fitting_parts(const Context& context, std::size_t bytes) {
  return std::max<std::size_t>(1, context.memory / bytes);
}

// The context of some of the items that are processed in parts.
Context part_of_work(const Context& context, std::size_t first, std::size_t count, std::size_t all) {
  const auto share = [all](std::size_t done) { return static_cast<double>(done) / static_cast<double>(all); };
  return context.part(share(first), share(first + count));
}

// The neuron of the index-th vector of what an MLP reads or writes.
NeuronId neuron_at(const NetworkLayer& mlp, std::size_t layer, StreamPart part, std::size_t index) {
  if (part == StreamPart::kMlpOut) return {layer, index, NeuronVector::kOut};
  const std::size_t neurons = mlp.neurons();
  const bool gated = mlp.is_gated();
  const bool gate = gated && index < neurons;
  return {layer, gated && !gate ? index - neurons : index, gate ? NeuronVector::kGate : NeuronVector::kUp};
}

// Index of a neuron's vector in what its MLP reads or writes.
std::size_t index_of(const NetworkLayer& mlp, const NeuronId& id) {
  const bool after_gates = id.vector == NeuronVector::kUp && mlp.is_gated();
  return id.neuron + (after_gates ? mlp.neurons() : 0);
}

StreamPart part_of(NeuronVector vector) {
  return vector == NeuronVector::kOut ? StreamPart::kMlpOut : StreamPart::kMlpIn;
}

// Compares the subspaces of one direction, all that read or all that write, with the neurons.
class NeuronScan {
 public:
  NeuronScan(const Model& model, const Network& network, const NeuronOptions& options, bool reads)
      : model_(model),
        network_(network),
        options_(options),
        part_(reads ? StreamPart::kMlpOut : StreamPart::kMlpIn),
        d_(model.info().sizes.d_model),
        h_(model.info().sizes.widest()) {}

  // `heads` are in the order of layers.
  void run(std::span<HeadNeurons* const> heads, const Context& context) {
    std::size_t total = kBlock;
    for (std::size_t layer = 0; layer < network_.layers.size(); ++layer) total += vectors(layer);
    const std::size_t fitting = fitting_parts(context, (d_ * h_ + total) * sizeof(float));
    for (std::size_t first = 0; first < heads.size(); first += fitting) {
      const std::size_t count = std::min(fitting, heads.size() - first);
      run_part(heads.subspan(first, count), part_of_work(context, first, count, heads.size()));
    }
  }

 private:
  void run_part(std::span<HeadNeurons* const> heads, const Context& context) {
    const Buffer<float> bases = load_bases(heads);
    shares_.assign(heads.size(), {});
    for (std::size_t layer = 0; layer < network_.layers.size(); ++layer) {
      scan_layer(heads, bases, layer);
      context.report(static_cast<double>(layer + 1) / static_cast<double>(network_.layers.size()));
    }
    const std::size_t dimension = isotropic_dimension(model_.info(), options_.weights);
    parallel_for(heads.size(), [&](std::size_t i) {
      const std::vector<DirectionTail> tails =
          direction_tails(shares_[i], heads[i]->rank, dimension, heads[i]->top.size());
      for (std::size_t k = 0; k < tails.size(); ++k) {
        heads[i]->top[k].log10_p = tails[k].log10_p;
        heads[i]->top[k].q = tails[k].q;
      }
    });
  }

  [[nodiscard]] std::size_t vectors(std::size_t layer) const {
    return StreamMatrix(model_, network_, part_, layer, options_.weights).count();
  }
  [[nodiscard]] Buffer<float> load_bases(std::span<HeadNeurons* const> heads) const {
    Buffer<float> bases(heads.size() * d_ * h_);
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const HeadRole& one = heads[i]->subspace;
      const LayerFactors loaded = load_factors(model_, one.head.layer, {Metric::kPk, one.role, Side::kSource},
                                               options_.weights, {one.head.head});
      heads[i]->rank = loaded.ranks.front();
      const std::span<float> basis = bases.values().subspan(i * d_ * h_, d_ * h_);
      std::ranges::fill(std::ranges::copy(loaded.values.values(), basis.begin()).out, basis.end(), 0.0F);
    }
    return bases;
  }

  // The range of subspaces that the MLP of a layer can talk to: later heads that read, or earlier heads that write.
  [[nodiscard]] std::span<HeadNeurons* const> range(std::span<HeadNeurons* const> heads, std::size_t layer) const {
    const ComponentId mlp(ComponentKind::kMlp, layer);
    const auto talks = [&](const HeadNeurons* head) {
      const ComponentId id(head->subspace.head);
      return part_ == StreamPart::kMlpOut ? precedes(mlp, id, network_.parallel) : precedes(id, mlp, network_.parallel);
    };
    std::size_t begin = 0;
    while (begin < heads.size() && !talks(heads[begin])) ++begin;
    std::size_t end = begin;
    while (end < heads.size() && talks(heads[end])) ++end;
    return heads.subspan(begin, end - begin);
  }

  void scan_layer(std::span<HeadNeurons* const> heads, const Buffer<float>& bases, std::size_t layer) {
    const std::span<HeadNeurons* const> talking = range(heads, layer);
    if (talking.empty()) return;
    const auto begin = static_cast<std::size_t>(talking.data() - heads.data());
    StreamMatrix matrix(model_, network_, part_, layer, options_.weights);
    Buffer<float> block(std::min(kBlock, matrix.count()) * d_);
    const std::size_t count = talking.size();
    Buffer<float> squares(count * kBlock);
    for (std::size_t first = 0; first < matrix.count(); first += kBlock) {
      const std::size_t size = std::min(kBlock, matrix.count() - first);
      matrix.read(first, size, block.values().first(size * d_));
      parallel_for(size, [&](std::size_t i) { normalize(block.values().subspan(i * d_, d_)); });
      engine_->compute({bases.data() + begin * d_ * h_, count, h_, d_}, {block.data(), size, 1, d_}, squares.data(),
                       size);
      parallel_for(count, [&](std::size_t i) {
        HeadNeurons& head = *talking[i];
        const std::span<const float> found = squares.values().subspan(i * size, size);
        if (std::ranges::any_of(found, [](float share) { return !std::isfinite(share); })) matrix.reject_non_finite();
        shares_[begin + i].insert(shares_[begin + i].end(), found.begin(), found.end());
        for (std::size_t k = 0; k < size; ++k) offer(head, layer, first + k, static_cast<double>(found[k]));
        head.compared += size;
      });
    }
  }

  // Keeps the best, best first: lists are short.
  void offer(HeadNeurons& head, std::size_t layer, std::size_t index, double share) const {
    if (head.rank == 0 || options_.top == 0) return;
    std::vector<NeuronScore>& top = head.top;
    if (top.size() == options_.top && share <= top.back().share) return;
    if (top.size() == options_.top) top.pop_back();
    const auto place = std::ranges::upper_bound(top, share, std::ranges::greater(), &NeuronScore::share);
    top.insert(place, {neuron_at(network_.layers[layer], layer, part_, index), share});
  }

  const Model& model_;
  const Network& network_;
  const NeuronOptions& options_;
  StreamPart part_;
  std::size_t d_;
  std::size_t h_;
  std::unique_ptr<BlockNorms> engine_ = cpu_block_norms();
  std::vector<std::vector<float>> shares_;
};

// The vectors of some neurons, of unit length, one after another.
Buffer<float> load_vectors(const Model& model, std::span<const NeuronId> neurons, WeightProcessing weights) {
  const std::size_t d = model.info().sizes.d_model;
  const Network network = resolve_network(model);
  Buffer<float> vectors(neurons.size() * d);
  std::vector<std::size_t> order(neurons.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](std::size_t i) { return std::tuple(neurons[i].layer, part_of(neurons[i].vector)); };
  std::ranges::stable_sort(order, {}, key);
  for (std::size_t begin = 0; begin < order.size();) {
    const auto [layer, part] = key(order[begin]);
    StreamMatrix matrix(model, network, part, layer, weights);
    for (; begin < order.size() && key(order[begin]) == std::tuple(layer, part); ++begin) {
      const std::size_t i = order[begin];
      const std::span<float> vector = vectors.values().subspan(i * d, d);
      matrix.read(index_of(network.layers[layer], neurons[i]), 1, vector);
      normalize(vector);
    }
  }
  return vectors;
}

bool is_closer(const TokenScore& a, const TokenScore& b) {
  return std::abs(a.score) != std::abs(b.score) ? std::abs(a.score) > std::abs(b.score) : a.token < b.token;
}

// Keeps the closest, closest first: lists are short.
void offer(std::vector<TokenScore>& top, std::size_t most, const TokenScore& score) {
  if (top.size() == most && (top.empty() || !is_closer(score, top.back()))) return;
  if (top.size() == most) top.pop_back();
  top.insert(std::ranges::upper_bound(top, score, is_closer), score);
}

// Compares all tokens with some neurons.
void scan_tokens(const Model& model, const TokenRows& rows, std::span<NeuronTokens> part,
                 const TokenProfileOptions& options, const Context& context) {
  const std::size_t d = model.info().sizes.d_model;
  std::vector<NeuronId> neurons;
  for (const NeuronTokens& one : part) neurons.push_back(one.neuron);
  const Buffer<float> vectors = load_vectors(model, neurons, options.weights);
  const std::size_t block = std::min(std::max<std::size_t>(1, options.block), rows.count());
  Buffer<float> tokens(block * d);
  Buffer<float> cosines(part.size() * block);
  Buffer<float> squares(part.size() * rows.count());
  for (std::size_t first = 0; first < rows.count(); first += block) {
    const std::size_t count = std::min(block, rows.count() - first);
    rows.read_centered(first, count, tokens.data());
    parallel_multiply({vectors.data(), part.size(), d, d}, MatrixView(tokens.data(), count, d, d).transposed(),
                      {cosines.data(), part.size(), count, count});
    parallel_for(part.size(), [&](std::size_t i) {
      for (std::size_t t = 0; t < count; ++t) {
        const float cosine = cosines.data()[i * count + t];
        squares.data()[i * rows.count() + first + t] = cosine * cosine;
        offer(part[i].top, options.top, {first + t, static_cast<double>(cosine)});
      }
    });
    context.report(static_cast<double>(first + count) / static_cast<double>(rows.count()));
  }
  parallel_for(part.size(), [&](std::size_t i) {
    std::vector<TokenScore>& top = part[i].top;
    if (!top.empty() && top.front().score == 0) top.clear();  // the vector is zero
    const std::span<float> all = squares.values().subspan(i * rows.count(), rows.count());
    const std::vector<DirectionTail> tails = direction_tails(all, 1, d, top.size());
    for (std::size_t k = 0; k < tails.size(); ++k) {
      top[k].log10_p = tails[k].log10_p;
      top[k].q = tails[k].q;
    }
  });
}

}  // namespace

std::string_view to_string(NeuronVector vector) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"out", "up", "gate"};
  return kNames[static_cast<std::size_t>(vector)];
}

std::string to_string(const NeuronId& id) {
  return fmt::format("L{}N{}", id.layer, id.neuron);
}

std::vector<HeadNeurons> strongest_neurons(const Model& model, std::span<const HeadRole> subspaces,
                                           const NeuronOptions& options, const Context& context) {
  const Network network = resolve_network(model);
  std::vector<HeadNeurons> result;
  for (const HeadRole& subspace : subspaces) result.push_back({.subspace = subspace});
  for (const bool reads : {true, false}) {
    std::vector<HeadNeurons*> heads;
    for (HeadNeurons& one : result) {
      if ((one.subspace.role != Role::kO) == reads) heads.push_back(&one);
    }
    std::ranges::stable_sort(heads, {}, [](const HeadNeurons* one) { return one->subspace.head.layer; });
    NeuronScan(model, network, options, reads).run(heads, context.part(reads ? 0 : 0.5, reads ? 0.5 : 1));
  }
  return result;
}

std::vector<NeuronTokens> neuron_tokens(const Model& model, std::span<const NeuronId> neurons,
                                        const TokenProfileOptions& options, const Context& context) {
  std::vector<NeuronTokens> result;
  for (const NeuronId& id : neurons) result.push_back({id});
  if (result.empty()) return result;
  const TokenRows rows(model, options);
  const std::size_t bytes = (model.info().sizes.d_model + rows.count() + options.block) * sizeof(float);
  const std::size_t fitting = fitting_parts(context, bytes);
  for (std::size_t first = 0; first < result.size(); first += fitting) {
    const std::size_t count = std::min(fitting, result.size() - first);
    scan_tokens(model, rows, std::span(result).subspan(first, count), options,
                part_of_work(context, first, count, result.size()));
  }
  return result;
}

}  // namespace headscope
