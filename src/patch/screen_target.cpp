#include "patch/screen_target.h"

#include <algorithm>
#include <array>

#include "headscope/base/buffer.h"
#include "headscope/base/parallel.h"
#include "headscope/linalg/matrix_product.h"

namespace headscope {
namespace {

Matrix columns_of(const Matrix& from, std::size_t first, std::size_t count) {
  Matrix to(from.rows(), count);
  for (std::size_t t = 0; t < from.rows(); ++t) std::ranges::copy(from.row(t).subspan(first, count), to.row(t).begin());
  return to;
}

std::vector<double> row_squares(MatrixView rows) {
  std::vector<double> sums(rows.rows());
  for (std::size_t t = 0; t < rows.rows(); ++t) {
    for (std::size_t j = 0; j < rows.columns(); ++j) {
      sums[t] += static_cast<double>(rows(t, j)) * static_cast<double>(rows(t, j));
    }
  }
  return sums;
}

double dot(std::span<const float> a, std::span<const float> b) {
  constexpr std::size_t kLanes = 16;  // partial sums, so that the compiler can use vectors
  std::array<float, kLanes> part{};
  std::size_t j = 0;
  for (; j + kLanes <= a.size(); j += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) part[k] += a[j + k] * b[j + k];
  }
  double sum = 0;
  for (const float one : part) sum += static_cast<double>(one);
  for (; j < a.size(); ++j) sum += static_cast<double>(a[j]) * static_cast<double>(b[j]);
  return sum;
}

// Not initialized.
class ScratchMatrix {
 public:
  ScratchMatrix(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns), values_(rows * columns) {}
  [[nodiscard]] MatrixSpan span() noexcept { return {values_.data(), rows_, columns_, columns_}; }

 private:
  std::size_t rows_;
  std::size_t columns_;
  Buffer<float> values_;
};

}  // namespace

ScreenTarget::ScreenTarget(const RecordedPass& record, std::size_t layer, std::span<const std::size_t> lengths,
                           bool post_norm)
    : sizes_(record.model().info().sizes),
      attention_(record.model(), layer, lengths),
      group_(sizes_.heads / sizes_.kv_heads) {
  for (std::size_t i = 0; i < record.inputs().size(); ++i) inputs_.push_back(input(record, layer, i, post_norm));
  const HeadWeights writes = record.model().load_heads(layer, Role::kO, WeightProcessing::kRaw);
  const std::size_t width = group_ * sizes_.d_head;
  grams_.resize(sizes_.kv_heads);
  parallel_for(sizes_.kv_heads, [&](std::size_t kv) {
    // The columns of consecutive heads are contiguous: (group * d_head) x d_model.
    const MatrixView stacked(writes.columns(kv * group_).data(), width, sizes_.d_model, sizes_.d_model);
    grams_[kv] = Matrix(width, width);
    multiply(stacked, stacked.transposed(), grams_[kv].span());
  });
}

ScreenTarget::Input ScreenTarget::input(const RecordedPass& record, std::size_t layer, std::size_t index,
                                        bool post_norm) const {
  const MatrixView stream = record.stream(layer, index);
  Input in;
  in.raw = attention_.project(stream);
  in.read_factors = attention_.read_factors(stream);
  in.squares = row_squares(stream);
  // A norm on the branch (Gemma) divides what the heads add; its gain is part of O. One of the sum comes later.
  if (!post_norm) {
    const std::span<const float> after = record.factors(layer, /*after_mlp=*/false, index);
    for (std::size_t t = 0; t < after.size(); ++t) {
      in.squares[t] /= static_cast<double>(after[t]) * static_cast<double>(after[t]);
    }
  }
  const std::size_t h = sizes_.d_head;
  in.k.resize(sizes_.kv_heads);
  in.q.resize(sizes_.heads);
  in.pattern.resize(sizes_.heads);
  in.output.resize(sizes_.heads);
  parallel_for(sizes_.kv_heads, [&](std::size_t kv) {
    in.k[kv] = columns_of(in.raw.k, kv * h, h);
    attention_.place(Role::kK, in.k[kv].span());
  });
  parallel_for(sizes_.heads, [&](std::size_t a) {
    in.q[a] = columns_of(in.raw.q, a * h, h);
    attention_.place(Role::kQ, in.q[a].span());
    in.pattern[a] = Matrix(stream.rows(), stream.rows());
    attention_.pattern(a, in.q[a].view(), in.k[a / group_].view(), in.pattern[a].span());
    in.output[a] = Matrix(stream.rows(), h);
    multiply(in.pattern[a].view(), in.raw.v.view().block(0, stream.rows(), a / group_ * h, h), in.output[a].span());
  });
  return in;
}

void ScreenTarget::change_patterns(const Input& in, Role role, std::size_t head, MatrixSpan changes,
                                   MatrixSpan outputs) const {
  const std::size_t h = sizes_.d_head;
  const std::size_t tokens = in.squares.size();
  const std::size_t sources = changes.rows() / tokens;
  const bool is_query = role == Role::kQ;
  const std::size_t kv = is_query ? head / group_ : head;
  const Matrix& raw = is_query ? in.raw.q : in.raw.k;
  for (std::size_t row = 0; row < changes.rows(); ++row) {
    const std::span<float> moved = changes.row(row);
    const std::span<const float> recorded = raw.row(row % tokens).subspan(head * h, h);
    for (std::size_t j = 0; j < h; ++j) moved[j] += recorded[j];
  }
  const auto of_source = [&](MatrixSpan stacked, std::size_t s) {
    return stacked.block(s * tokens, tokens, 0, stacked.columns());
  };
  for (std::size_t s = 0; s < sources; ++s) attention_.place(role, of_source(changes, s));

  const MatrixView v = in.raw.v.view().block(0, tokens, kv * h, h);
  ScratchMatrix patterns(changes.rows(), tokens);
  for (std::size_t g = 0; g < outputs.columns() / h; ++g) {
    const std::size_t query = is_query ? head : head * group_ + g;
    for (std::size_t s = 0; s < sources; ++s) {
      const MatrixView moved = of_source(changes, s).view();
      attention_.pattern(query, is_query ? moved : in.q[query].view(), is_query ? in.k[kv].view() : moved,
                         of_source(patterns.span(), s));
    }
    const MatrixSpan own = outputs.block(0, outputs.rows(), g * h, h);
    multiply(patterns.span().view(), v, own);
    for (std::size_t row = 0; row < own.rows(); ++row) {
      const std::span<const float> recorded = in.output[query].row(row % tokens);
      for (std::size_t j = 0; j < h; ++j) own.row(row)[j] -= recorded[j];
    }
  }
}

void ScreenTarget::change_values(const Input& in, std::size_t head, MatrixView changes, MatrixSpan outputs) const {
  const std::size_t h = sizes_.d_head;
  const std::size_t tokens = in.squares.size();
  for (std::size_t g = 0; g < group_; ++g) {
    for (std::size_t first = 0; first < changes.rows(); first += tokens) {
      multiply(in.pattern[head * group_ + g].view(), changes.block(first, tokens, 0, h),
               outputs.block(first, tokens, g * h, h));
    }
  }
}

void ScreenTarget::apply_gates(const Input& in, std::size_t first, MatrixSpan outputs) const {
  if (in.raw.gates.rows() == 0) return;
  const std::size_t tokens = in.squares.size();
  for (std::size_t row = 0; row < outputs.rows(); ++row) {
    const std::span<float> own = outputs.row(row);
    const std::span<const float> gates = in.raw.gates.row(row % tokens).subspan(first * sizes_.d_head, own.size());
    for (std::size_t j = 0; j < own.size(); ++j) own[j] *= gates[j];
  }
}

void ScreenTarget::add_effects(std::size_t input, Role role, std::size_t head, MatrixSpan changes,
                               std::span<double> sums) const {
  const Input& in = inputs_[input];
  const std::size_t h = sizes_.d_head;
  const std::size_t tokens = in.squares.size();
  const std::size_t width = (role == Role::kQ ? 1 : group_) * h;
  ScratchMatrix outputs(changes.rows(), width);
  if (role == Role::kV) {
    change_values(in, head, changes.view(), outputs.span());
  } else {
    change_patterns(in, role, head, changes, outputs.span());
  }
  const std::size_t kv = role == Role::kQ ? head / group_ : head;
  apply_gates(in, role == Role::kQ ? head : head * group_, outputs.span());
  // ||o O^T||^2 = o (O^T O) o^T for a row o of the outputs.
  const std::size_t offset = role == Role::kQ ? head % group_ * h : 0;
  ScratchMatrix weighted(changes.rows(), width);
  multiply(outputs.span().view(), grams_[kv].view().block(offset, width, offset, width), weighted.span());
  for (std::size_t row = 0; row < changes.rows(); ++row) {
    const double squares = dot(outputs.span().row(row), weighted.span().row(row));
    sums[row / tokens] += std::max(0.0, squares) / in.squares[row % tokens];
  }
}

std::size_t ScreenTarget::memory(const HeadSizes& sizes, std::span<const std::size_t> lengths) {
  const std::size_t queries = sizes.heads * sizes.d_head;
  const std::size_t keys = sizes.kv_heads * sizes.d_head;
  // Gram matrices and O; per token, projections with and without positions, gates and outputs; maps.
  std::size_t floats = queries * queries / sizes.kv_heads + queries * sizes.d_model;
  for (const std::size_t tokens : lengths) floats += tokens * (4 * queries + 3 * keys + sizes.heads * tokens);
  return floats * sizeof(float);
}

std::size_t ScreenTarget::call_memory(const HeadSizes& sizes, std::size_t tokens, std::size_t sources) {
  const std::size_t width = sizes.heads / sizes.kv_heads * sizes.d_head;
  return sources * tokens * (sizes.d_head + tokens + 2 * width) * sizeof(float);
}

}  // namespace headscope
