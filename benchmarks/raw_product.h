#pragma once

#include <cblas.h>

#include <vector>

#include "benchmarks/measure.h"
#include "headscope/base/parallel.h"

namespace headscope::bench {

/// Flops per second of the raw product of two large float matrices of depth `d` on all threads: what BLAS achieves on
/// this machine at this moment. Median of `rounds`.
inline double raw_product_rate(int d, int rounds = 5) {
  const int side = 3072;
  std::vector<float> a(static_cast<std::size_t>(side) * static_cast<std::size_t>(d), 1.0F);
  std::vector<float> b(a);
  std::vector<float> c(static_cast<std::size_t>(side) * side);
  openblas_set_num_threads(static_cast<int>(thread_count()));
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    times.push_back(seconds([&] {
      cblas_sgemm(CblasColMajor, CblasTrans, CblasNoTrans, side, side, d, 1, a.data(), d, b.data(), d, 0, c.data(),
                  side);
    }));
  }
  openblas_set_num_threads(1);
  return 2.0 * side * side * d / median(times);
}

}  // namespace headscope::bench
