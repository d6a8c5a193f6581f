#pragma once

#include <cstddef>

namespace headscope::lapack {

// All calls into BLAS and LAPACK. Matrices are column-major here, as in Fortran: A(i, j) = a[i + j * lda]. Every call
// runs on the calling thread only; `parallel_for` provides the parallelism. Sizes are checked to fit LAPACK's int. A
// call that reports an invalid argument is a bug in headscope and throws std::logic_error.

/// C = alpha * op(A) * op(B) + beta * C, where C is m x n, the inner extent is k, and op transposes if requested.
void gemm(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, float alpha, const float* a,
          std::size_t lda, const float* b, std::size_t ldb, float beta, float* c, std::size_t ldc);
void gemm(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, double alpha,
          const double* a, std::size_t lda, const double* b, std::size_t ldb, double beta, double* c, std::size_t ldc);

/// Upper triangle of C = alpha * A^T A + beta * C, or of alpha * A A^T + beta * C if `transpose` is false. C is n x n
/// and the inner extent is k.
void syrk_upper(bool transpose, std::size_t n, std::size_t k, float alpha, const float* a, std::size_t lda, float beta,
                float* c, std::size_t ldc);
void syrk_upper(bool transpose, std::size_t n, std::size_t k, double alpha, const double* a, std::size_t lda,
                double beta, double* c, std::size_t ldc);

/// Factors A = R^T R with R upper triangular, in place. Returns false if A is not positive definite.
[[nodiscard]] bool cholesky_upper(std::size_t n, double* a, std::size_t lda);

/// Inverts an upper triangular matrix in place. Returns false if it is singular.
[[nodiscard]] bool invert_upper(std::size_t n, double* a, std::size_t lda);

/// B = B * R^-1 with R upper triangular n x n, B m x n.
void solve_right_upper(std::size_t m, std::size_t n, const double* r, std::size_t ldr, double* b, std::size_t ldb);

/// B = R^-T B with R upper triangular n x n, B n x columns.
void solve_left_upper_transposed(std::size_t n, std::size_t columns, const double* r, std::size_t ldr, double* b,
                                 std::size_t ldb);

/// Computes the eigenvalues, ascending, and the eigenvectors, stored as columns of A, of a symmetric matrix given by
/// its upper triangle. Returns false if the iteration did not converge.
[[nodiscard]] bool symmetric_eigen(std::size_t n, double* a, std::size_t lda, double* values);

/// Computes the eigenpairs of largest magnitude, at most `count`, of a symmetric matrix given by its upper triangle,
/// which is overwritten: `values` ascending, vectors as the columns of `z`, n x count. Returns how many there are, or
/// -1 if an iteration did not converge. Uses tridiagonal reduction, so that only eigenvalues are computed for the
/// remaining pairs.
[[nodiscard]] int leading_eigen(std::size_t n, double* a, std::size_t lda, std::size_t count, double* values,
                                double* z);

/// Computes the singular values, descending, of an m x n matrix, which is overwritten. Returns false if the iteration
/// did not converge.
[[nodiscard]] bool singular_values(std::size_t m, std::size_t n, double* a, std::size_t lda, double* values);

}  // namespace headscope::lapack
