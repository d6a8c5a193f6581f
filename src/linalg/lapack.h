#pragma once

#include <cstddef>

namespace headscope::lapack {

// The only calls into BLAS and LAPACK. Matrices are column-major here, as Fortran has them: A(i, j) = a[i + j * lda].
// Every call runs on the calling thread alone: threads are `parallel_for`'s business. Sizes are checked to fit
// LAPACK's int; a call that reports a bad argument is a bug of ours and throws std::logic_error.

/// C = alpha * op(A) * op(B) + beta * C, C is m x n and the inner extent k; op transposes where asked to.
void gemm(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, float alpha, const float* a,
          std::size_t lda, const float* b, std::size_t ldb, float beta, float* c, std::size_t ldc);
void gemm(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, double alpha,
          const double* a, std::size_t lda, const double* b, std::size_t ldb, double beta, double* c, std::size_t ldc);

/// Upper triangle of C = alpha * A^T A + beta * C, or of A A^T if `transpose` is false. C is n x n, the inner extent k.
void syrk_upper(bool transpose, std::size_t n, std::size_t k, float alpha, const float* a, std::size_t lda, float beta,
                float* c, std::size_t ldc);
void syrk_upper(bool transpose, std::size_t n, std::size_t k, double alpha, const double* a, std::size_t lda,
                double beta, double* c, std::size_t ldc);

/// A = R^T R with R upper triangular, in place. False if A is not positive definite.
[[nodiscard]] bool cholesky_upper(std::size_t n, double* a, std::size_t lda);

/// Inverse of an upper triangular matrix, in place. False if it is singular.
[[nodiscard]] bool invert_upper(std::size_t n, double* a, std::size_t lda);

/// B = B * R^-1 with R upper triangular n x n, B m x n.
void solve_right_upper(std::size_t m, std::size_t n, const double* r, std::size_t ldr, double* b, std::size_t ldb);

/// B = R^-T B with R upper triangular n x n, B n x columns.
void solve_left_upper_transposed(std::size_t n, std::size_t columns, const double* r, std::size_t ldr, double* b,
                                 std::size_t ldb);

/// B = R^T B with R upper triangular n x n, B n x columns.
void multiply_left_upper_transposed(std::size_t n, std::size_t columns, const float* r, std::size_t ldr, float* b,
                                    std::size_t ldb);

/// Eigenvalues, ascending, and eigenvectors, as the columns of A, of a symmetric matrix given by its upper triangle.
/// False if the iteration did not converge.
[[nodiscard]] bool symmetric_eigen(std::size_t n, double* a, std::size_t lda, double* values);

/// Eigenvectors of the eigenvalues of largest magnitude, at most `count`, of a symmetric matrix given by its upper
/// triangle, which is destroyed: `values` ascending, vectors as the columns of `z`, n x count. Says how many; -1 if an
/// iteration did not converge. By tridiagonal reduction, so that the cost of the others is their eigenvalues'.
[[nodiscard]] int leading_eigen(std::size_t n, double* a, std::size_t lda, std::size_t count, double* values,
                                double* z);

/// Singular values, descending, of an m x n matrix, which is destroyed. False if the iteration did not converge.
[[nodiscard]] bool singular_values(std::size_t m, std::size_t n, double* a, std::size_t lda, double* values);

}  // namespace headscope::lapack
