#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/base/context.h"
#include "headscope/model/model.h"
#include "headscope/relate/token_profile.h"

namespace headscope {

/// A vector of a neuron in the residual stream.
enum class NeuronVector {
  kOut,   ///< What the neuron writes.
  kUp,    ///< What it reads.
  kGate,  ///< What its gate reads, in gated MLPs.
};
/// "out", "up" or "gate".
[[nodiscard]] std::string_view to_string(NeuronVector vector) noexcept;

struct NeuronId {
  std::size_t layer = 0;
  std::size_t neuron = 0;
  NeuronVector vector = NeuronVector::kOut;

  friend bool operator==(const NeuronId&, const NeuronId&) = default;
  friend std::strong_ordering operator<=>(const NeuronId& a, const NeuronId& b) noexcept {
    return std::tie(a.layer, a.neuron, a.vector) <=> std::tie(b.layer, b.neuron, b.vector);
  }
};
/// E.g. "L3N120", without the vector.
[[nodiscard]] std::string to_string(const NeuronId& id);

struct NeuronScore {
  NeuronId neuron;
  double share = 0;    ///< ||W^T w||^2 / ||w||^2 for the vector w and the basis W of the head's space.
  double log10_p = 0;  ///< Of a random direction having such a share.
  double q = 1;        ///< Benjamini-Hochberg q-value over all vectors compared with this space.
};

/// The neurons that a head is most likely to talk to.
struct HeadNeurons {
  HeadRole subspace;
  std::size_t rank = 0;               ///< Of the space. If it is 0, nothing is listed.
  std::size_t compared = 0;           ///< Number of vectors.
  std::vector<NeuronScore> top = {};  ///< Largest share first; ties by layer, neuron and vector.
};

struct NeuronOptions {
  WeightProcessing weights = WeightProcessing::kFolded;
  std::size_t top = 10;
};

/// Returns, for every requested subspace and in that order, the neurons whose vectors have the largest share in it.
/// What a head reads (Q, K, V) is compared with what the neurons of earlier MLPs write; what it writes (O), with what
/// the neurons of later MLPs read, including that of its own layer unless the block is parallel.
///
/// Under a random direction the share has the law Beta(p/2, (n - p)/2) exactly, with p the rank of the space and n that
/// of `isotropic_dimension`.
///
/// Streams over the layers. Memory: the bases, the share of every vector, and one MLP matrix as floats. Bases and
/// shares count against the budget; if they do not fit, they are split into parts, and the MLPs are read again for each
/// part. Not collective. The result does not depend on threads and memory. Cost: 2 d h flops per vector and subspace.
///
/// \throws Error  kUnsupported and kFormat as `resolve_network`; kInvalidArgument as `token_profiles`; kNumeric and
/// kFormat as `Model::load_heads`.
[[nodiscard]] std::vector<HeadNeurons> strongest_neurons(const Model& model, std::span<const HeadRole> subspaces,
                                                         const NeuronOptions& options = {},
                                                         const Context& context = {});

/// The tokens closest to a neuron's vector.
struct NeuronTokens {
  NeuronId neuron;
  std::vector<TokenScore> top = {};  ///< `score` is the cosine with its sign; ordered by its size.
};

/// Returns the token profiles of neurons, as `token_profiles` does for subspaces, in parts that fit in memory. A vector
/// of length 0 has none.
/// \throws Error  as `token_profiles` and `resolve_network`.
[[nodiscard]] std::vector<NeuronTokens> neuron_tokens(const Model& model, std::span<const NeuronId> neurons,
                                                      const TokenProfileOptions& options = {},
                                                      const Context& context = {});

}  // namespace headscope
