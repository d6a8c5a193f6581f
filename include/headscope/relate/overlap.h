#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/base/matrix.h"
#include "headscope/linalg/gram.h"
#include "headscope/model/model.h"
#include "headscope/relate/affinity.h"
#include "headscope/relate/component.h"

namespace headscope {

/// The components that are compared besides heads.
struct ComponentChoice {
  bool rotary_key = false;
  bool mlp = false;
  bool each_expert = false;  ///< The experts of a mixture are components of their own, not one MLP together.
  bool embedding = false;
  bool position = false;
  bool unembedding = false;

  [[nodiscard]] bool any() const noexcept { return rotary_key || mlp || embedding || position || unembedding; }
};

/// Components that write in one way, or read in one way. Writers: O (heads), M (MLP out), E (embedding), P (positions).
/// Readers: Q, K, V (heads; with grouped queries K and V of KV heads), R (rotary key that the heads of a layer share),
/// M (MLP in), U (unembedding).
struct ComponentSide {
  char letter = 'O';
  bool reads = false;
  std::vector<ComponentId> nodes = {};                 ///< In the order of the forward pass.
  std::vector<std::size_t> columns = {};               ///< Of the matrix: width of a head, neurons, tokens, ...
  std::vector<std::optional<std::size_t>> ranks = {};  ///< Of the column space, if it is known to be less than d.
  std::vector<GramMoments> moments = {};               ///< Of the density.
};

/// Scores between all components of one writing side and one reading side.
struct ComponentScores {
  std::size_t source = 0;  ///< Index into Overlaps::sources.
  std::size_t target = 0;  ///< Index into Overlaps::targets.
  Matrix overlap = {};     ///< Rows are sources. NaN where the source does not come before the target.
  Matrix pk = {};          ///< pk / sqrt(p q); NaN also where one of the two has no basis.
};

struct Overlaps {
  std::size_t d = 0;
  bool parallel = false;  ///< Heads and MLP of a layer read the same stream.
  std::vector<ComponentSide> sources = {};
  std::vector<ComponentSide> targets = {};
  std::vector<ComponentScores> scores = {};  ///< By source side, then by target side.
  std::vector<std::string> warnings = {};    ///< Components that the model does not have.

  /// E.g. "OM" for heads to MLPs.
  [[nodiscard]] std::string pair_name(const ComponentScores& one) const {
    return {sources[one.source].letter, targets[one.target].letter};
  }
};

/// Compares every component that writes to the residual stream with every one that reads it later.
///
/// The density of a component is rho = A A^T / ||A||_F^2 with A its processed weights, d x columns, and rho = W W^T / p
/// for a head's role with orthonormal basis W of rank p. Then overlap(a, b) = d tr(rho_a rho_b): 1 on average for
/// directions that have nothing to do with each other, d if both are the same single direction; between heads it is
/// pk d / (p q). `pk` is the projection kernel of the column spaces over sqrt(p q), for components with a basis: heads,
/// and others that do not fill the stream. A component that is zero has score 0.
///
/// `heads` has the affinities pk of the role pairs that start with O; heads read in the target roles of these. Only
/// selected layers and heads are compared (`options`); options.variant is not used.
///
/// Cost, with H heads of width h in all and L layers: 2 d^2 per weight of an MLP and per vocabulary entry, d^2 h H L
/// per role of the heads, 4 d^3 L. Densities of the writing side are kept in memory as far as they fit; those of the
/// reading side are made again for each part. Not collective: `context.ranks` is not used. The result does not depend
/// on threads or memory.
///
/// \throws Error  kUnsupported and kFormat as `resolve_network`; kResource, before anything is computed, if the memory
///                is too small; kNumeric and kFormat as `Model::load_heads`.
[[nodiscard]] Overlaps compute_overlaps(const Model& model, const ComponentChoice& choice,
                                        std::span<const Affinities> heads, const AffinityOptions& options = {},
                                        const Context& context = {});

/// Checks that the model is described well enough for `compute_overlaps`, and that the memory of the context is enough
/// for it and for what is made of it, with `top` edges per pair of sides. \throws Error  as `compute_overlaps`.
void check_overlaps(const Model& model, const ComponentChoice& choice, std::span<const Role> roles, std::size_t top,
                    const AffinityOptions& options, const Context& context);

}  // namespace headscope
