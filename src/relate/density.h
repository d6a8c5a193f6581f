#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "headscope/base/buffer.h"
#include "headscope/linalg/gram.h"
#include "headscope/model/stream_matrix.h"
#include "relate/head_factors.h"

namespace headscope {

/// The density rho = A A^T / ||A||_F^2 (d x d, trace 1) of a component that is not a head, with the orthonormal basis
/// of its column space. Held as the smaller of A / ||A||_F (d x count) and rho. All zero if A is.
struct Density {
  std::size_t d = 0;
  std::size_t count = 0;      ///< Columns of A.
  bool square = false;        ///< `values` is rho, row-major, instead of the columns of A / ||A||_F.
  Buffer<float> values = {};  ///< Empty if A is zero.
  GramMoments moments = {};   ///< Of rho.
  Buffer<float> basis = {};   ///< `rank` vectors of d floats.
  /// Dimension of the column space, if it is known to be smaller than d.
  std::optional<std::size_t> rank = {};

  [[nodiscard]] bool is_zero() const noexcept { return values.size() == 0; }
};

/// Reads the matrix block by block. If it is not narrower than the stream, its rank is looked for only up to d = 512
/// and count = 8 d: real matrices of that form have full rank, and a basis of everything says nothing.
///
/// Cost: 2 d^2 count flops and 2 d^3 for the third moment, in float. Memory: `density_memory`.
/// \throws Error  kNumeric if a weight is NaN or infinite; the message gives its index.
[[nodiscard]] Density make_density(StreamMatrix matrix, std::size_t d);

/// Bytes of a density, and those needed besides while it is made.
struct DensityMemory {
  std::size_t kept = 0;
  std::size_t making = 0;
};
[[nodiscard]] DensityMemory density_memory(const StreamMatrix& matrix, std::size_t d) noexcept;

/// Returns tr(rho_a rho_b), in [0, 1].
[[nodiscard]] double inner_product(const Density& a, const Density& b);
/// Returns the projection kernel of the two column spaces; both must have a rank.
[[nodiscard]] double projection_kernel(const Density& a, const Density& b);

/// Writes tr(rho W W^T) / rank(W) of every head: the share of the density in the head's space, over its rank. `heads`
/// are bases. 0 for heads of rank 0.
void inner_products(const Density& density, const LayerFactors& heads, std::span<double> out);
/// Writes the projection kernel with every head; the density must have a rank.
void projection_kernels(const Density& density, const LayerFactors& heads, std::span<double> out);

}  // namespace headscope
