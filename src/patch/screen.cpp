#include "headscope/patch/screen.h"

#include <algorithm>
#include <cmath>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/forward/layer_attention.h"
#include "headscope/linalg/matrix_product.h"

namespace headscope {
namespace {

// One input of a target layer: what its heads computed in the recorded pass.
struct TargetInput {
  ProjectedHeads raw;
  std::vector<Matrix> q;        // by query head, placed
  std::vector<Matrix> k;        // by KV head, placed
  std::vector<Matrix> pattern;  // by query head
  std::vector<Matrix> z;        // by query head
  std::vector<float> read_factors;
  std::vector<double> squares;  // ||x||^2 per token
};

Matrix columns_of(const Matrix& from, std::size_t first, std::size_t count) {
  Matrix to(from.rows(), count);
  for (std::size_t t = 0; t < from.rows(); ++t) std::ranges::copy(from.row(t).subspan(first, count), to.row(t).begin());
  return to;
}

// A target layer: everything that does not depend on the source.
class Target {
 public:
  Target(const RecordedPass& record, std::size_t layer, std::span<const std::size_t> lengths)
      : sizes_(record.model().info().sizes),
        attention_(record.model(), layer, lengths),
        group_(sizes_.heads / sizes_.kv_heads) {
    for (std::size_t i = 0; i < record.inputs().size(); ++i) inputs_.push_back(input(record, layer, i));
    const HeadWeights writes = record.model().load_heads(layer, Role::kO, WeightProcessing::kRaw);
    const std::size_t width = group_ * sizes_.d_head;
    for (std::size_t kv = 0; kv < sizes_.kv_heads; ++kv) {
      // The columns of consecutive heads are contiguous: (group * h) x d.
      const MatrixView stacked(writes.columns(kv * group_).data(), width, sizes_.d_model, sizes_.d_model);
      Matrix gram(width, width);
      multiply(stacked, stacked.transposed(), gram.span());
      grams_.push_back(std::move(gram));
    }
  }

  [[nodiscard]] std::size_t heads(Role role) const { return role == Role::kQ ? sizes_.heads : sizes_.kv_heads; }
  [[nodiscard]] const LayerAttention& attention() const { return attention_; }

  // sum over tokens of ||change of the output||^2 / ||x||^2 on one input, if a role of a head changes by `change`,
  // tokens x d_head, before norms and positions.
  [[nodiscard]] double effect(std::size_t input, Role role, std::size_t head, const Matrix& change) const {
    const TargetInput& in = inputs_[input];
    const std::size_t h = sizes_.d_head;
    const std::size_t kv = role == Role::kQ ? head / group_ : head;
    const std::size_t first = role == Role::kQ ? head : head * group_;
    const std::size_t count = role == Role::kQ ? 1 : group_;
    const Matrix v = columns_of(in.raw.v, kv * h, h);
    Matrix moved;  // the query or key after the change
    if (role != Role::kV) {
      moved = columns_of(role == Role::kQ ? in.raw.q : in.raw.k, head * h, h);
      for (std::size_t i = 0; i < moved.values().size(); ++i) moved.values()[i] += change.values()[i];
      attention_.place(role, moved.span());
    }
    Matrix outputs(change.rows(), count * h);
    Matrix pattern(change.rows(), change.rows());
    for (std::size_t g = 0; g < count; ++g) {
      const std::size_t query = first + g;
      const MatrixSpan out = outputs.span().block(0, outputs.rows(), g * h, h);
      if (role == Role::kV) {
        multiply(in.pattern[query].view(), change.view(), out);
        continue;
      }
      attention_.pattern(role == Role::kQ ? moved.view() : in.q[query].view(),
                         role == Role::kQ ? in.k[kv].view() : moved.view(), pattern.span());
      multiply(pattern.view(), v.view(), out);
      for (std::size_t t = 0; t < out.rows(); ++t) {
        for (std::size_t j = 0; j < h; ++j) out.row(t)[j] -= in.z[query](t, j);
      }
    }
    const std::size_t offset = (first - kv * group_) * h;
    const MatrixView gram = grams_[kv].view().block(offset, count * h, offset, count * h);
    Matrix weighted(outputs.rows(), outputs.columns());
    multiply(outputs.view(), gram, weighted.span());
    double sum = 0;
    for (std::size_t t = 0; t < outputs.rows(); ++t) {
      double squares = 0;
      for (std::size_t j = 0; j < outputs.columns(); ++j) {
        squares += static_cast<double>(outputs(t, j)) * static_cast<double>(weighted(t, j));
      }
      sum += std::max(0.0, squares) / in.squares[t];
    }
    return sum;
  }

  [[nodiscard]] std::span<const float> read_factors(std::size_t input) const { return inputs_[input].read_factors; }

 private:
  [[nodiscard]] TargetInput input(const RecordedPass& record, std::size_t layer, std::size_t index) const {
    const MatrixView stream = record.stream(layer, index);
    TargetInput in;
    in.raw = attention_.project(stream);
    in.read_factors = attention_.read_factors(stream);
    for (std::size_t t = 0; t < stream.rows(); ++t) {
      double sum = 0;
      for (std::size_t j = 0; j < stream.columns(); ++j) {
        sum += static_cast<double>(stream(t, j)) * static_cast<double>(stream(t, j));
      }
      in.squares.push_back(sum);
    }
    const std::size_t h = sizes_.d_head;
    for (std::size_t kv = 0; kv < sizes_.kv_heads; ++kv) {
      in.k.push_back(columns_of(in.raw.k, kv * h, h));
      attention_.place(Role::kK, in.k.back().span());
    }
    for (std::size_t a = 0; a < sizes_.heads; ++a) {
      in.q.push_back(columns_of(in.raw.q, a * h, h));
      attention_.place(Role::kQ, in.q.back().span());
      Matrix pattern(stream.rows(), stream.rows());
      attention_.pattern(in.q[a].view(), in.k[a / group_].view(), pattern.span());
      in.z.emplace_back(stream.rows(), h);
      const MatrixView v = in.raw.v.view().block(0, stream.rows(), a / group_ * h, h);
      multiply(pattern.view(), v, in.z.back().span());
      in.pattern.push_back(std::move(pattern));
    }
    return in;
  }

  HeadSizes sizes_;
  LayerAttention attention_;
  std::size_t group_;
  std::vector<TargetInput> inputs_;
  std::vector<Matrix> grams_;  // of O, by KV head
};

// The reading matrices of a role, d_model x (heads * d_head), with the gain and the centering of the norm before them.
Matrix reads_of(const Model& model, std::size_t layer, Role role, const LayerAttention& attention) {
  const HeadWeights weights = model.load_heads(layer, role, WeightProcessing::kRaw);
  Matrix reads(weights.d_model(), weights.heads() * weights.d_head());
  for (std::size_t a = 0; a < weights.heads(); ++a) {
    const MatrixView head = weights.head(a);
    for (std::size_t i = 0; i < reads.rows(); ++i) {
      const float gain = attention.read_gain().empty() ? 1.0F : attention.read_gain()[i];
      for (std::size_t j = 0; j < head.columns(); ++j) reads(i, a * weights.d_head() + j) = head(i, j) * gain;
    }
  }
  if (attention.centers()) center_columns(reads);
  return reads;
}

}  // namespace

std::vector<Screen> screen(const RecordedPass& record, const HeadChange& change, std::span<const Role> roles,
                           const Context& context) {
  const HeadSizes& sizes = record.model().info().sizes;
  const std::size_t h = sizes.d_head;
  std::vector<std::size_t> lengths;
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < record.inputs().size(); ++i) {
    lengths.push_back(record.tokens(i));
    tokens += record.tokens(i);
  }
  std::vector<Screen> screens;
  for (const Role role : roles) {
    if (role == Role::kO) throw Error(ErrorKind::kInvalidArgument, "O writes: only Q, K and V can be screened");
    const std::size_t targets = role == Role::kQ ? sizes.heads : sizes.kv_heads;
    screens.push_back({role, Matrix(sizes.layers * sizes.heads, sizes.layers * targets)});
  }
  // The changes of all heads' outputs, by head and input.
  std::vector<Matrix> changes(sizes.layers * sizes.heads * lengths.size());
  parallel_for(changes.size(), [&](std::size_t i) {
    const std::size_t head = i / lengths.size();
    changes[i] = change.of_output({head / sizes.heads, head % sizes.heads}, i % lengths.size());
  });
  for (std::size_t layer = 1; layer < sizes.layers; ++layer) {
    const Target target(record, layer, lengths);
    for (Screen& one : screens) {
      const std::size_t count = target.heads(one.role);
      Matrix reads = reads_of(record.model(), layer, one.role, target.attention());
      HeadWeights writes;
      Matrix blocks(sizes.heads * h, count * h);
      for (std::size_t source = layer; source-- > 0;) {
        Matrix carried = reads;
        change.carry_back(source, carried);
        if (change.is_post_norm()) reads = carried;
        writes = record.model().load_heads(source, Role::kO, WeightProcessing::kRaw, std::move(writes));
        const MatrixView stacked(writes.columns(0).data(), sizes.heads * h, sizes.d_model, sizes.d_model);
        parallel_multiply(stacked, carried.view(), blocks.span());
        std::vector<std::vector<float>> factors;
        for (std::size_t i = 0; i < lengths.size(); ++i) {
          factors.push_back(change.path_factors(source, layer, i));
          for (std::size_t t = 0; t < lengths[i]; ++t) factors[i][t] *= target.read_factors(i)[t];
        }
        parallel_for(sizes.heads * count, [&](std::size_t pair) {
          const std::size_t s = pair / count;
          const std::size_t t = pair % count;
          double sum = 0;
          for (std::size_t i = 0; i < lengths.size(); ++i) {
            Matrix moved(lengths[i], h);
            multiply(changes[(source * sizes.heads + s) * lengths.size() + i].view(),
                     blocks.view().block(s * h, h, t * h, h), moved.span());
            for (std::size_t row = 0; row < lengths[i]; ++row) {
              for (float& value : moved.row(row)) value *= factors[i][row];
            }
            sum += target.effect(i, one.role, t, moved);
          }
          one.values(source * sizes.heads + s, layer * count + t) =
              static_cast<float>(std::sqrt(sum / static_cast<double>(tokens)));
        });
        if (context.poll) context.poll();
      }
    }
    context.report(static_cast<double>(layer) / static_cast<double>(sizes.layers - 1));
  }
  return screens;
}

}  // namespace headscope
