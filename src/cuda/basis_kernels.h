#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace headscope::cuda {

/// The small steps between the matrix products of an orthonormalization, for all heads of a batch at once, with one
/// thread block per head. Everything is float64. Matrices are h x h, column-major and contiguous.

/// out = in, converted to double.
void widen(const float* in, std::size_t count, double* out, cudaStream_t stream);

/// Replaces each Gram matrix G = R^T R by R^-1, upper triangular, and `conditions` by ||R||_F ||R^-1||_F, an upper
/// bound on the condition number that is at most h times too large. If R does not exist, the condition is infinity and
/// the matrix is unspecified. If `ranks` is given, columns from the rank on are zero and those of R^-1 become unit
/// vectors; a negative rank marks a head that has failed before and fails again.
///
/// `shared_memory`: bytes available to a thread block. If a matrix fits, the work is done there.
void invert_cholesky(double* grams, std::size_t h, std::size_t count, const int* ranks, std::size_t shared_memory,
                     double* conditions, cudaStream_t stream);

/// Divides each matrix by its Frobenius norm f and replaces its logarithm l by 2 l + log f. Start with l = 0 and square
/// the matrices in between: after k squarings, e^(l / 2^k) bounds the norm of the original matrix and is at most
/// h^(2^-k / 2) times too large.
void normalize(double* matrices, std::size_t h, std::size_t count, double* logarithms, cudaStream_t stream);

/// Replaces finite conditions by e^((l + m) / (2 power)) if that is smaller, where l is the logarithm of a head's Gram
/// matrix and m, `count` entries later, that of its inverse. If `noise` is given, then replaces the condition of a head
/// by infinity unless e^(-m / (2 power)), a lower bound of its smallest singular value, is above the head's noise.
void bound_conditions(const double* logarithms, std::size_t count, double power, const double* noise,
                      double* conditions, cudaStream_t stream);

/// Parameters of `reveal_ranks`.
struct RankRule {
  double tolerance = 0;  ///< Singular values above this fraction of the largest count.
  double condition = 0;  ///< Below this condition all singular values count, and the head is left unchanged.
  std::size_t most = 0;  ///< Maximum rank.
  std::size_t h = 0;
  std::size_t count = 0;          ///< Number of heads.
  const double* noise = nullptr;  ///< By head, on the device: singular values up to this do not count.
};

/// For every head whose condition does not prove full rank, replaces `transforms` by the leading eigenvectors of its
/// Gram matrix divided by the square roots of their eigenvalues, followed by zeros. `ranks` receives the rank of every
/// head, or -1 if the matrix contains a NaN or the iteration does not converge. `grams` and `vectors` are overwritten.
///
/// Uses Jacobi rotations, h / 2 disjoint ones at a time.
void reveal_ranks(const RankRule& rule, const double* conditions, std::size_t shared_memory, double* grams,
                  double* vectors, double* transforms, int* ranks, cudaStream_t stream);

/// Sets the rank of every head with an infinite condition to -1.
void note_failures(const double* conditions, std::size_t count, int* ranks, cudaStream_t stream);

/// Computes tr G, tr G^2 and tr G^3, [head][3]. `squares` are the matrices G^2.
void gram_traces(const double* grams, const double* squares, std::size_t h, std::size_t count, double* traces,
                 cudaStream_t stream);

/// How a factor is stored.
enum class Rounding { kFloat, kTf32, kFp16, kBf16 };

/// Factor entries are at most 1; in half they are stored multiplied by this, to use its full range.
inline constexpr float kFp16Scale = 0x1p14F;

/// What a factor is divided by: nothing, or a root of a trace of its Gram matrix (nothing if that is zero).
enum class Divisor { kOne, kRootOfTrace, kFourthRootOfSquare };

/// Rounds factors of `size` numbers each and stores them. `traces` as computed by `gram_traces`.
void store_factors(const double* factors, std::size_t size, std::size_t count, Divisor divisor, const double* traces,
                   Rounding rounding, void* out, cudaStream_t stream);

}  // namespace headscope::cuda
