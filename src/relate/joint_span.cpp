#include "relate/joint_span.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/base/random.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/linalg/orthonormal_basis.h"
#include "headscope/linalg/symmetric_eigen.h"

namespace headscope {
namespace {

// Signed sums of columns, every `count`-th into the same one: the columns of one head go to different sums.
std::vector<float> signed_sums(const HeadWeights& heads, std::size_t count) {
  const std::size_t d = heads.d_model();
  const std::size_t columns = heads.heads() * heads.d_head();
  Random random(0);
  std::vector<float> signs(columns);
  for (float& sign : signs) sign = random.normal() < 0 ? -1.0F : 1.0F;
  std::vector<float> sums(count * d);
  parallel_for(count, [&](std::size_t i) {
    for (std::size_t j = i; j < columns; j += count) {
      const float* column = heads.values().data() + j * d;
      for (std::size_t k = 0; k < d; ++k) sums[i * d + k] += signs[j] * column[k];
    }
  });
  return sums;
}

double sum_of_squares(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

// Whether nothing of any head is outside the span, up to the errors of float products.
bool holds_all(const HeadWeights& heads, std::span<const float> found) {
  constexpr double kOutside = 1e-6;
  const std::size_t size = found.size() / heads.heads();
  std::vector<char> inside(heads.heads());
  parallel_for(heads.heads(), [&](std::size_t head) {
    const double whole = sum_of_squares(heads.columns(head));
    inside[head] = whole - sum_of_squares(found.subspan(head * size, size)) <= kOutside * whole ? 1 : 0;
  });
  return std::ranges::find(inside, 0) == inside.end();
}

}  // namespace

std::optional<WeightsInSpan> in_joint_span(const FactorWeights& weights) {
  const HeadWeights& heads = weights.outer;
  const std::size_t d = heads.d_model();
  const std::size_t sums = weights.joint_rank + weights.joint_rank / 8;
  const bool narrow = weights.joint_rank >= heads.d_head() && 2 * sums <= d;
  if (!narrow || heads.heads() * heads.d_head() <= sums) return std::nullopt;

  JointSpan span{0, d, Buffer<float>(sums * d)};
  span.rank = orthonormal_basis(signed_sums(heads, sums), d, sums, 0, span.vectors.values());
  if (span.rank < heads.d_head()) return std::nullopt;
  Buffer<float> values = coordinates(span, {heads.values().data(), heads.heads(), heads.d_head(), d});
  if (!holds_all(heads, values.values())) return std::nullopt;
  std::vector<double> noise;
  for (std::size_t head = 0; head < heads.heads(); ++head) noise.push_back(heads.noise(head));
  HeadWeights outer(heads.role(), span.rank, heads.d_head(), std::move(values), std::move(noise));
  return WeightsInSpan{std::move(span),
                       {.metric = weights.metric,
                        .outer = std::move(outer),
                        .heads = weights.heads,
                        .queries_per_kv = weights.queries_per_kv,
                        .rank_tolerance = weights.rank_tolerance}};
}

Buffer<float> coordinates(const JointSpan& span, const FactorStack& stack) {
  const std::size_t columns = stack.count * stack.width;
  Buffer<float> found(columns * span.rank);
  parallel_multiply(MatrixView(stack.values, columns, span.d, span.d),
                    MatrixView(span.vectors.data(), span.rank, span.d, span.d).transposed(),
                    MatrixSpan(found.data(), columns, span.rank, span.rank));
  return found;
}

void add_projectors(CovarianceSum& sum, const JointSpan& span, std::span<const float> bases) {
  if (span.empty()) return sum.add(bases, bases.size() / sum.d());
  // With X X^T = V diag(l) V^T, the sum of projectors is S^T X X^T S = Y Y^T for Y = S^T V diag(l)^(1/2).
  const std::size_t rank = span.rank;
  const std::size_t columns = bases.size() / rank;
  Matrix gram(rank, rank);
  const MatrixView x(bases.data(), columns, rank, rank);
  parallel_multiply(x.transposed(), x, gram.span());
  DoubleMatrix exact(rank, rank);
  for (std::size_t i = 0; i < rank; ++i) {
    for (std::size_t j = 0; j < rank; ++j) exact(i, j) = static_cast<double>(gram(i, j));
  }
  const SymmetricEigen eigen = symmetric_eigen(exact);
  Matrix root(rank, rank);  // row k is sqrt(l_k) v_k
  for (std::size_t k = 0; k < rank; ++k) {
    const double scale = std::sqrt(std::max(0.0, eigen.values[k]));
    for (std::size_t j = 0; j < rank; ++j) root(k, j) = static_cast<float>(scale * eigen.vectors(k, j));
  }
  Buffer<float> vectors(rank * span.d);
  parallel_multiply(root.view(), MatrixView(span.vectors.data(), rank, span.d, span.d),
                    MatrixSpan(vectors.data(), rank, span.d, span.d));
  sum.add(vectors.values(), rank);
}

}  // namespace headscope
