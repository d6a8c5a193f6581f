#include "model/compose_heads.h"

#include <algorithm>
#include <cmath>

#include "headscope/base/parallel.h"
#include "headscope/base/random.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// The largest singular value, from below: 12 steps of the power method are within 3% of it on random matrices.
double largest_singular_value(MatrixView matrix) {
  constexpr int kSteps = 12;
  Random random(1);
  std::vector<double> v(matrix.columns());
  for (double& value : v) value = random.normal();
  std::vector<double> image(matrix.rows());
  double norm = 0;
  for (int step = 0; step < kSteps; ++step) {
    double squares = 0;
    for (const double value : v) squares += value * value;
    if (!(squares > 0)) return 0;
    norm = 0;
    for (std::size_t i = 0; i < matrix.rows(); ++i) {
      const float* row = matrix.data() + i * matrix.row_stride();
      double sum = 0;
      for (std::size_t j = 0; j < v.size(); ++j) sum += static_cast<double>(row[j]) * v[j];
      image[i] = sum / std::sqrt(squares);
      norm += image[i] * image[i];
    }
    std::ranges::fill(v, 0.0);
    for (std::size_t i = 0; i < matrix.rows(); ++i) {
      const float* row = matrix.data() + i * matrix.row_stride();
      for (std::size_t j = 0; j < v.size(); ++j) v[j] += static_cast<double>(row[j]) * image[i];
    }
  }
  return std::sqrt(norm);
}

}  // namespace

std::vector<ReadHeads> compose_heads(const Checkpoint& checkpoint, const LatentFactor& latent,
                                     std::span<HeadRequest> requests, const Fold& fold) {
  const std::size_t rank = latent.rank;
  const std::size_t d = latent.down.tensor->shape[1];
  const std::vector<float> gain = read_vector(checkpoint, *latent.gain);

  HeadRequest down{latent.down, 1, rank, {}, {fold.factors.begin(), fold.factors.end()}};
  ReadHeads first = std::move(read_heads(checkpoint, std::span(&down, 1)).front());
  const double first_noise = first.noise.empty() ? 0 : first.noise.front();
  HeadWeights stacked(Role::kK, d, rank, std::move(first.values));
  headscope::fold(stacked, fold);
  const MatrixView a(stacked.values().data(), rank, d, d);  // the columns of the d x rank matrix
  const bool noisy = !first.noise.empty() || has_spacings(*requests.front().slice.tensor);
  const double first_norm = noisy ? largest_singular_value(a) : 0;

  std::vector<Buffer<float>> recycled;
  for (HeadRequest& request : requests) {
    recycled.push_back(std::move(request.recycled));
    request.recycled = {};
    request.factors = gain;
  }
  std::vector<ReadHeads> seconds = read_heads(checkpoint, requests);
  std::vector<ReadHeads> result;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const std::size_t width = requests[r].width;
    const std::size_t columns = requests[r].heads * width;
    ReadHeads& second = seconds[r];
    parallel_for(columns, [&](std::size_t j) {
      for (std::size_t i = 0; i < rank; ++i) second.values.data()[j * rank + i] *= gain[i];
    });
    ReadHeads composed;
    composed.values = std::move(recycled[r]);
    if (composed.values.size() != columns * d) {
      composed.values = {};  // free the old buffer before allocating
      composed.values = Buffer<float>(columns * d);
    }
    parallel_multiply(MatrixView(second.values.data(), columns, rank, rank), a,
                      MatrixSpan(composed.values.data(), columns, d, d));
    if (noisy) {
      composed.noise.resize(requests[r].heads);
      parallel_for(requests[r].heads, [&](std::size_t head) {
        const MatrixView own(second.values.data() + head * width * rank, width, rank, rank);
        const double second_noise = second.noise.empty() ? 0 : second.noise[head];
        composed.noise[head] = first_noise * largest_singular_value(own) + first_norm * second_noise;
      });
    }
    second.values = {};
    result.push_back(std::move(composed));
  }
  return result;
}

}  // namespace headscope
