#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace headscope::cuda {

/// The small steps between the products of an orthonormalization, for all heads of a batch at once: a block of threads
/// a head. Everything is float64. Matrices are h x h, column after column, one after another.

/// out = in, in double.
void widen(const float* in, std::size_t count, double* out, cudaStream_t stream);

/// Replaces each Gram matrix G = R^T R by R^-1, upper triangular, and `conditions` by ||R||_F ||R^-1||_F, which bounds
/// the condition number from above and is at most h times too large; infinity where there is no such R, and then the
/// matrix is anything. Where `ranks` is given, columns from there on are zero and those of R^-1 become unit vectors;
/// a negative one is a head that failed before, and fails again.
///
/// `shared_memory`: bytes that a block may have. With enough for a matrix the work stays there.
void invert_cholesky(double* grams, std::size_t h, std::size_t count, const int* ranks, std::size_t shared_memory,
                     double* conditions, cudaStream_t stream);

/// Divides each matrix by its Frobenius norm f and replaces its logarithm l by 2 l + log f. Begin with zeros and square
/// in between: after k squares, e^(l / 2^k) bounds the norm of the first matrix, and is at most h^(2^-k / 2) too large.
void normalize(double* matrices, std::size_t h, std::size_t count, double* logarithms, cudaStream_t stream);

/// Replaces conditions that are finite by e^((l + m) / (2 power)) where that is smaller: l of a head's Gram matrix, m,
/// `count` places on, of its inverse.
void bound_conditions(const double* logarithms, std::size_t count, double power, double* conditions,
                      cudaStream_t stream);

/// What `reveal_ranks` decides with.
struct RankRule {
  double tolerance = 0;  ///< Singular values above this share of the largest count.
  double condition = 0;  ///< Below this all of them do, and there is nothing to be done.
  std::size_t most = 0;  ///< No rank is larger.
  std::size_t h = 0;
  std::size_t count = 0;  ///< Heads.
};

/// For every head whose condition leaves it open which singular values count: replaces `transforms` by the leading
/// eigenvectors of its Gram matrix over the roots of their eigenvalues, zeros after them. `ranks` becomes the rank of
/// every head, -1 where the matrix has a NaN or there is no convergence. `grams` and `vectors` are lost.
///
/// By Jacobi's rotations, h / 2 at a time that do not touch each other.
void reveal_ranks(const RankRule& rule, const double* conditions, std::size_t shared_memory, double* grams,
                  double* vectors, double* transforms, int* ranks, cudaStream_t stream);

/// A head's ranks become -1 where its condition is infinite.
void note_failures(const double* conditions, std::size_t count, int* ranks, cudaStream_t stream);

/// tr G and tr G^2, [head][2].
void gram_traces(const double* grams, std::size_t h, std::size_t count, double* traces, cudaStream_t stream);

/// How a factor is stored.
enum class Rounding { kFloat, kTf32, kFp16, kBf16 };

/// Half has no range to lose: factors are stored times this. Their entries are at most 1.
inline constexpr float kFp16Scale = 0x1p14F;

/// What a factor is divided by: nothing, or a root of one of its Gram matrix's traces, unless that is zero.
enum class Divisor { kOne, kRootOfTrace, kFourthRootOfSquare };

/// Rounds factors of `size` numbers each and stores them. `traces` as `gram_traces` makes them.
void store_factors(const double* factors, std::size_t size, std::size_t count, Divisor divisor, const double* traces,
                   Rounding rounding, void* out, cudaStream_t stream);

}  // namespace headscope::cuda
