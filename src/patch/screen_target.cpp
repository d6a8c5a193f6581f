#include "patch/screen_target.h"

#include <algorithm>
#include <array>

#include "headscope/base/buffer.h"
#include "headscope/base/parallel.h"
#include "headscope/linalg/matrix_product.h"

namespace headscope {
namespace {

Matrix columns_of(MatrixView from, std::size_t first, std::size_t count) {
  Matrix to(from.rows(), count);
  for (std::size_t t = 0; t < from.rows(); ++t) {
    std::copy_n(from.data() + t * from.row_stride() + first, count, to.row(t).begin());
  }
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

// Adds to stacked keys of single heads, tokens after tokens, the rotary key that the heads share, which is the last of
// what a recorded key has.
void append_shared_key(MatrixView own, const Matrix& recorded, MatrixSpan whole) {
  for (std::size_t row = 0; row < whole.rows(); ++row) {
    std::ranges::copy(recorded.row(row % recorded.rows()), whole.row(row).begin());
    std::copy_n(own.data() + row * own.row_stride(), own.columns(), whole.row(row).begin());
  }
}

// The most query heads that share a KV head.
std::size_t largest_group(const HeadSizes& sizes) {
  std::size_t largest = 1;
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) largest = std::max(largest, sizes.queries_per_kv(layer));
  return largest;
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

ScreenTarget::ScreenTarget(const RecordedPass& record, const HeadChange& change, std::size_t layer)
    : sizes_(record.model().info().sizes),
      attention_(record.model(), layer, record.shapes(layer)),
      kv_heads_(sizes_.heads_of(sizes_.kv_layer(layer), Role::kK)),
      group_(sizes_.queries_per_kv(layer)),
      key_width_(sizes_.width(layer, Role::kQ)),
      value_width_(sizes_.width(layer, Role::kV)) {
  for (std::size_t i = 0; i < record.inputs().size(); ++i) inputs_.push_back(input(record, change, layer, i));
  const HeadWeights writes = change.load_writes(layer);
  const std::size_t width = group_ * value_width_;
  grams_.resize(kv_heads_);
  parallel_for(kv_heads_, [&](std::size_t kv) {
    // The columns of consecutive heads are contiguous: (group * width) x d_model.
    const MatrixView stacked(writes.columns(kv * group_).data(), width, sizes_.d_model, sizes_.d_model);
    grams_[kv] = Matrix(width, width);
    multiply(stacked, stacked.transposed(), grams_[kv].span());
  });
}

ScreenTarget::Input ScreenTarget::input(const RecordedPass& record, const HeadChange& change, std::size_t layer,
                                        std::size_t index) const {
  const MatrixView stream = record.stream(layer, index);
  const MatrixView keys = record.read(layer, Role::kK, index);
  Input in;
  in.index = index;
  in.raw = attention_.project(stream, keys);
  in.query_factors = attention_.read_factors(Role::kQ, stream);
  in.key_factors = attention_.read_factors(Role::kK, keys);
  in.squares = row_squares(stream);
  const auto factor = static_cast<double>(change.branch_factor(layer));
  for (double& sum : in.squares) sum /= factor * factor;
  // A norm on the branch (Gemma) divides what the heads add; its gain is part of O. One of the sum comes later.
  if (!change.is_post_norm()) {
    const std::span<const float> after = record.factors(layer, /*after_mlp=*/false, index);
    for (std::size_t t = 0; t < after.size(); ++t) {
      in.squares[t] /= static_cast<double>(after[t]) * static_cast<double>(after[t]);
    }
  }
  const std::size_t lender = sizes_.kv_layer(layer);
  in.k.resize(kv_heads_);
  if (attention_.places_values() || lender != layer) in.v.resize(kv_heads_);
  in.q.resize(sizes_.heads);
  in.pattern.resize(sizes_.heads);
  in.output.resize(sizes_.heads);
  parallel_for(kv_heads_, [&](std::size_t kv) {
    if (lender != layer) {
      const LentRows lent = record.lent_keys(lender, index);
      in.k[kv] = columns_of(lent.keys, kv * key_width_, key_width_);
      in.v[kv] = columns_of(lent.values, kv * value_width_, value_width_);
      return;
    }
    in.k[kv] = columns_of(in.raw.k.view(), kv * key_width_, key_width_);
    attention_.place(Role::kK, kv, index, in.k[kv].span());
    if (in.v.empty()) return;
    in.v[kv] = columns_of(in.raw.v.view(), kv * value_width_, value_width_);
    attention_.place(Role::kV, kv, index, in.v[kv].span());
  });
  parallel_for(sizes_.heads, [&](std::size_t a) {
    in.q[a] = columns_of(in.raw.q.view(), a * key_width_, key_width_);
    attention_.place(Role::kQ, a, index, in.q[a].span());
    in.pattern[a] = Matrix(stream.rows(), keys.rows());
    attention_.pattern(a, index, in.q[a].view(), in.k[a / group_].view(), in.pattern[a].span());
    in.output[a] = Matrix(stream.rows(), value_width_);
    multiply(in.pattern[a].view(), value(in, a / group_), in.output[a].span());
  });
  return in;
}

MatrixView ScreenTarget::value(const Input& in, std::size_t kv) const {
  if (!in.v.empty()) return in.v[kv].view();
  return in.raw.v.view().block(0, in.raw.v.rows(), kv * value_width_, value_width_);
}

void ScreenTarget::place_changes(const Input& in, Role role, std::size_t head, MatrixSpan changes) const {
  const std::size_t tokens = in.raw.of(role).rows();
  for (std::size_t row = 0; row < changes.rows(); ++row) {
    const std::span<float> moved = changes.row(row);
    const std::span<const float> recorded =
        in.raw.of(role).row(row % tokens).subspan(head * stride(role), moved.size());
    for (std::size_t j = 0; j < moved.size(); ++j) moved[j] += recorded[j];
  }
  for (std::size_t first = 0; first < changes.rows(); first += tokens) {
    attention_.place(role, head, in.index, changes.block(first, tokens, 0, changes.columns()));
  }
}

void ScreenTarget::change_patterns(const Input& in, Role role, std::size_t head, MatrixSpan changes,
                                   MatrixSpan outputs) const {
  const bool is_query = role == Role::kQ;
  const std::size_t kv = is_query ? head / group_ : head;
  const std::size_t queries = in.squares.size();
  const std::size_t keys = in.k[kv].rows();
  const std::size_t sources = changes.rows() / in.raw.of(role).rows();
  place_changes(in, role, head, changes);
  const bool shares_key = changes.columns() < key_width_;
  ScratchMatrix whole(shares_key ? changes.rows() : 0, key_width_);
  if (shares_key) {
    append_shared_key(changes.view(), in.k[kv], whole.span());
    changes = whole.span();
  }
  const auto of_source = [&](MatrixSpan stacked, std::size_t s) {
    const std::size_t rows = stacked.rows() / sources;
    return stacked.block(s * rows, rows, 0, stacked.columns());
  };
  ScratchMatrix patterns(sources * queries, keys);
  for (std::size_t g = 0; g < outputs.columns() / value_width_; ++g) {
    const std::size_t query = is_query ? head : head * group_ + g;
    for (std::size_t s = 0; s < sources; ++s) {
      const MatrixView moved = of_source(changes, s).view();
      attention_.pattern(query, in.index, is_query ? moved : in.q[query].view(), is_query ? in.k[kv].view() : moved,
                         of_source(patterns.span(), s));
    }
    const MatrixSpan own = outputs.block(0, outputs.rows(), g * value_width_, value_width_);
    multiply(patterns.span().view(), value(in, kv), own);
    for (std::size_t row = 0; row < own.rows(); ++row) {
      const std::span<const float> recorded = in.output[query].row(row % queries);
      for (std::size_t j = 0; j < value_width_; ++j) own.row(row)[j] -= recorded[j];
    }
  }
}

void ScreenTarget::change_values(const Input& in, std::size_t head, MatrixSpan changes, MatrixSpan outputs) const {
  const std::size_t queries = in.squares.size();
  const std::size_t keys = in.raw.v.rows();
  if (!in.v.empty()) {
    place_changes(in, Role::kV, head, changes);
    for (std::size_t row = 0; row < changes.rows(); ++row) {
      const std::span<const float> recorded = in.v[head].row(row % keys);
      for (std::size_t j = 0; j < value_width_; ++j) changes.row(row)[j] -= recorded[j];
    }
  }
  for (std::size_t g = 0; g < group_; ++g) {
    for (std::size_t s = 0; s < changes.rows() / keys; ++s) {
      multiply(in.pattern[head * group_ + g].view(), changes.block(s * keys, keys, 0, value_width_).view(),
               outputs.block(s * queries, queries, g * value_width_, value_width_));
    }
  }
}

void ScreenTarget::apply_gates(const Input& in, std::size_t first, MatrixSpan outputs) const {
  if (in.raw.gates.rows() == 0) return;
  const std::size_t tokens = in.squares.size();
  for (std::size_t row = 0; row < outputs.rows(); ++row) {
    const std::span<float> own = outputs.row(row);
    const std::span<const float> gates = in.raw.gates.row(row % tokens).subspan(first * value_width_, own.size());
    for (std::size_t j = 0; j < own.size(); ++j) own[j] *= gates[j];
  }
}

void ScreenTarget::add_effects(std::size_t input, Role role, std::size_t head, MatrixSpan changes,
                               std::span<double> sums) const {
  const Input& in = inputs_[input];
  const std::size_t tokens = tokens_of(role, input);
  const std::size_t queries = in.squares.size();
  const std::size_t width = (role == Role::kQ ? 1 : group_) * value_width_;
  const std::vector<float>& factors = in.raw.factors[static_cast<std::size_t>(role)];
  for (std::size_t row = 0; row < (factors.empty() ? 0 : changes.rows()); ++row) {
    for (float& value : changes.row(row)) value *= factors[row % tokens];
  }
  ScratchMatrix outputs(changes.rows() / tokens * queries, width);
  if (role == Role::kV) {
    change_values(in, head, changes, outputs.span());
  } else {
    change_patterns(in, role, head, changes, outputs.span());
  }
  const std::size_t kv = role == Role::kQ ? head / group_ : head;
  apply_gates(in, role == Role::kQ ? head : head * group_, outputs.span());
  // ||o O^T||^2 = o (O^T O) o^T for a row o of the outputs.
  const std::size_t offset = role == Role::kQ ? head % group_ * value_width_ : 0;
  ScratchMatrix weighted(outputs.span().rows(), width);
  multiply(outputs.span().view(), grams_[kv].view().block(offset, width, offset, width), weighted.span());
  for (std::size_t row = 0; row < outputs.span().rows(); ++row) {
    const double squares = dot(outputs.span().row(row), weighted.span().row(row));
    sums[row / queries] += std::max(0.0, squares) / in.squares[row % queries];
  }
}

std::size_t ScreenTarget::memory(const HeadSizes& sizes, std::span<const std::size_t> lengths) {
  const std::size_t queries = sizes.heads * sizes.widest();
  const std::size_t keys = sizes.kv_heads * sizes.widest();
  // Gram matrices and O; per token, projections before and after they are placed, gates and outputs; maps.
  std::size_t floats = queries * largest_group(sizes) * sizes.widest() + queries * sizes.d_model;
  for (const std::size_t tokens : lengths) floats += tokens * (4 * queries + 4 * keys + sizes.heads * tokens);
  return floats * sizeof(float);
}

std::size_t ScreenTarget::call_memory(const HeadSizes& sizes, std::size_t tokens, std::size_t sources) {
  const std::size_t width = largest_group(sizes) * sizes.widest();
  const std::size_t keys = sizes.d_rotary > 0 ? 2 * sizes.widest() : sizes.widest();
  return sources * tokens * (keys + tokens + 2 * width) * sizeof(float);
}

}  // namespace headscope
