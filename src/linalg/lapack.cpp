#include "linalg/lapack.h"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "headscope/linalg/kernels.h"
#include "linalg/blas_symbols.h"

extern "C" {
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
void dtrtri_(const char* uplo, const char* diag, const int* n, double* a, const int* lda, int* info, std::size_t,
             std::size_t);
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w, double* work,
             const int* lwork, int* iwork, const int* liwork, int* info, std::size_t, std::size_t);
void dsytrd_(const char* uplo, const int* n, double* a, const int* lda, double* d, double* e, double* tau, double* work,
             const int* lwork, int* info, std::size_t);
void dsterf_(const int* n, double* d, double* e, int* info);
void dstemr_(const char* jobz, const char* range, const int* n, double* d, double* e, const double* vl,
             const double* vu, const int* il, const int* iu, int* m, double* w, double* z, const int* ldz,
             const int* nzc, int* isuppz, int* tryrac, double* work, const int* lwork, int* iwork, const int* liwork,
             int* info, std::size_t, std::size_t);
void dormtr_(const char* side, const char* uplo, const char* trans, const int* m, const int* n, const double* a,
             const int* lda, const double* tau, double* c, const int* ldc, double* work, const int* lwork, int* info,
             std::size_t, std::size_t, std::size_t);
void dgesdd_(const char* jobz, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
             const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork, int* iwork, int* info,
             std::size_t);
}

namespace headscope::lapack {
namespace {

int narrow(std::size_t size) {
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw std::logic_error(fmt::format("lapack: extent {} does not fit an int", size));
  }
  return static_cast<int>(size);
}

// Negative info: an invalid argument. Positive info: a failure specific to the routine.
bool succeeded(int info, std::string_view routine) {
  if (info < 0) throw std::logic_error(fmt::format("lapack: {} rejected argument {}", routine, -info));
  return info == 0;
}

CBLAS_TRANSPOSE flag(bool transpose) {
  return transpose ? CblasTrans : CblasNoTrans;
}

// Otherwise OpenBLAS would start its own threads inside ours.
[[maybe_unused]] const bool kOneThread = [] {
  openblas_set_num_threads(1);
  return true;
}();

}  // namespace

void gemm(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, float alpha, const float* a,
          std::size_t lda, const float* b, std::size_t ldb, float beta, float* c, std::size_t ldc) {
  cblas_sgemm(CblasColMajor, flag(transpose_a), flag(transpose_b), narrow(m), narrow(n), narrow(k), alpha, a,
              narrow(lda), b, narrow(ldb), beta, c, narrow(ldc));
}

void gemm(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, double alpha,
          const double* a, std::size_t lda, const double* b, std::size_t ldb, double beta, double* c, std::size_t ldc) {
  cblas_dgemm(CblasColMajor, flag(transpose_a), flag(transpose_b), narrow(m), narrow(n), narrow(k), alpha, a,
              narrow(lda), b, narrow(ldb), beta, c, narrow(ldc));
}

void syrk_upper(bool transpose, std::size_t n, std::size_t k, float alpha, const float* a, std::size_t lda, float beta,
                float* c, std::size_t ldc) {
  cblas_ssyrk(CblasColMajor, CblasUpper, flag(transpose), narrow(n), narrow(k), alpha, a, narrow(lda), beta, c,
              narrow(ldc));
}

void syrk_upper(bool transpose, std::size_t n, std::size_t k, double alpha, const double* a, std::size_t lda,
                double beta, double* c, std::size_t ldc) {
  cblas_dsyrk(CblasColMajor, CblasUpper, flag(transpose), narrow(n), narrow(k), alpha, a, narrow(lda), beta, c,
              narrow(ldc));
}

bool cholesky_upper(std::size_t n, double* a, std::size_t lda) {
  const int n_int = narrow(n);
  const int lda_int = narrow(lda);
  int info = 0;
  dpotrf_("U", &n_int, a, &lda_int, &info, 1);
  return succeeded(info, "dpotrf");
}

bool invert_upper(std::size_t n, double* a, std::size_t lda) {
  const int n_int = narrow(n);
  const int lda_int = narrow(lda);
  int info = 0;
  dtrtri_("U", "N", &n_int, a, &lda_int, &info, 1, 1);
  return succeeded(info, "dtrtri");
}

void solve_right_upper(std::size_t m, std::size_t n, const double* r, std::size_t ldr, double* b, std::size_t ldb) {
  cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, narrow(m), narrow(n), 1.0, r,
              narrow(ldr), b, narrow(ldb));
}

void solve_left_upper_transposed(std::size_t n, std::size_t columns, const double* r, std::size_t ldr, double* b,
                                 std::size_t ldb) {
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, narrow(n), narrow(columns), 1.0, r,
              narrow(ldr), b, narrow(ldb));
}

bool symmetric_eigen(std::size_t n, double* a, std::size_t lda, double* values) {
  const int n_int = narrow(n);
  const int lda_int = narrow(lda);
  int info = 0;
  double work_query = 0;
  int iwork_query = 0;
  const int query = -1;
  dsyevd_("V", "U", &n_int, a, &lda_int, values, &work_query, &query, &iwork_query, &query, &info, 1, 1);
  static_cast<void>(succeeded(info, "dsyevd"));
  std::vector<double> work(static_cast<std::size_t>(work_query));
  std::vector<int> iwork(static_cast<std::size_t>(iwork_query));
  const int work_size = narrow(work.size());
  const int iwork_size = narrow(iwork.size());
  dsyevd_("V", "U", &n_int, a, &lda_int, values, work.data(), &work_size, iwork.data(), &iwork_size, &info, 1, 1);
  return succeeded(info, "dsyevd");
}

namespace {

// Computes eigenpairs first .. last (1-based, ascending) of a tridiagonal matrix.
bool tridiagonal_eigen(int n, std::vector<double> d, std::vector<double> e, int first, int last, double* values,
                       double* z) {
  e.resize(static_cast<std::size_t>(n));  // dstemr uses the extra element as workspace
  const double unused = 0;
  const int wanted = last - first + 1;
  int found = 0;
  int try_accuracy = 1;
  int info = 0;
  std::vector<double> all(static_cast<std::size_t>(n));
  std::vector<int> support(2 * static_cast<std::size_t>(wanted));
  std::vector<double> work(18 * static_cast<std::size_t>(n));
  std::vector<int> iwork(10 * static_cast<std::size_t>(n));
  const int work_size = narrow(work.size());
  const int iwork_size = narrow(iwork.size());
  dstemr_("V", "I", &n, d.data(), e.data(), &unused, &unused, &first, &last, &found, all.data(), z, &n, &wanted,
          support.data(), &try_accuracy, work.data(), &work_size, iwork.data(), &iwork_size, &info, 1, 1);
  std::copy_n(all.begin(), wanted, values);
  return succeeded(info, "dstemr") && found == wanted;
}

}  // namespace

int leading_eigen(std::size_t n, double* a, std::size_t lda, std::size_t count, double* values, double* z) {
  const int n_int = narrow(n);
  const int lda_int = narrow(lda);
  int info = 0;
  std::vector<double> d(n);
  std::vector<double> e(n);
  std::vector<double> tau(n);
  std::vector<double> work(64 * n);
  const int work_size = narrow(work.size());
  dsytrd_("U", &n_int, a, &lda_int, d.data(), e.data(), tau.data(), work.data(), &work_size, &info, 1);
  static_cast<void>(succeeded(info, "dsytrd"));
  std::vector<double> sorted = d;
  std::vector<double> off = e;
  dsterf_(&n_int, sorted.data(), off.data(), &info);
  if (!succeeded(info, "dsterf")) return -1;

  // In an ascending list, the largest magnitudes are at the two ends.
  count = std::min(count, n);
  std::size_t low = 0;
  std::size_t high = n;
  while (low + (n - high) < count) {
    if (-sorted[low] > sorted[high - 1]) {
      ++low;
    } else {
      --high;
    }
  }
  if (low > 0 && !tridiagonal_eigen(n_int, d, e, 1, narrow(low), values, z)) return -1;
  if (high < n && !tridiagonal_eigen(n_int, d, e, narrow(high + 1), n_int, values + low, z + low * n)) return -1;
  const int columns = narrow(count);
  dormtr_("L", "U", "N", &n_int, &columns, a, &lda_int, tau.data(), z, &n_int, work.data(), &work_size, &info, 1, 1, 1);
  static_cast<void>(succeeded(info, "dormtr"));
  return columns;
}

bool singular_values(std::size_t m, std::size_t n, double* a, std::size_t lda, double* values) {
  const int m_int = narrow(m);
  const int n_int = narrow(n);
  const int lda_int = narrow(lda);
  const int one = 1;
  int info = 0;
  double work_query = 0;
  const int query = -1;
  std::vector<int> iwork(8 * std::min(m, n));
  dgesdd_("N", &m_int, &n_int, a, &lda_int, values, nullptr, &one, nullptr, &one, &work_query, &query, iwork.data(),
          &info, 1);
  static_cast<void>(succeeded(info, "dgesdd"));
  std::vector<double> work(static_cast<std::size_t>(work_query));
  const int work_size = narrow(work.size());
  dgesdd_("N", &m_int, &n_int, a, &lda_int, values, nullptr, &one, nullptr, &one, work.data(), &work_size, iwork.data(),
          &info, 1);
  return succeeded(info, "dgesdd");
}

}  // namespace headscope::lapack

std::string headscope::kernel_name() {
  return openblas_get_corename();
}

std::string headscope::better_kernels() {
#if defined(__x86_64__)
  // "Prescott" is OpenBLAS's choice for an unknown processor; builds with a short list of kernels report "Katmai"
  // instead.
  const std::string name = kernel_name();
  if ((name == "Prescott" || name == "Katmai") && __builtin_cpu_supports("avx2")) {
    return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") ? "SkylakeX" : "Haswell";
  }
#endif
  return {};
}
