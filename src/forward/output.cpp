#include "forward/output.h"

#include <fmt/format.h>

#include <algorithm>

#include "forward/finite.h"
#include "forward/parallel_rows.h"
#include "forward/weights.h"
#include "forward/work_matrix.h"
#include "headscope/base/error.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/io/decode.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// Maximum number of logits held at a time, 64 MB: a whole input's logits may exceed the maps.
constexpr std::size_t kLogits = std::size_t{16} << 20;

// If the output is NaN or infinite, a weight of the head is broken or a value is out of float's range.
void check_finite(const Model& model, const Network& network, MatrixView values) {
  const Checkpoint& checkpoint = model.checkpoint();
  if (all_finite(values)) return;
  std::vector<StoredLinear> head = network.output.classifiers;
  for (const auto* one : {&network.output.transform, &network.output.project, &network.output.unembedding}) {
    if (*one) head.push_back(**one);
  }
  for (const StoredLinear& linear : head) reject_non_finite(checkpoint, *linear.weight);
  throw Error(ErrorKind::kNumeric, fmt::format("{}: the output is NaN or infinite", checkpoint.path().string()));
}

void classify(const Model& model, const Network& network, std::size_t input, MatrixSpan stream,
              const std::function<void(const OutputRows&)>& receiver, Buffer<float>& scratch) {
  const NetworkOutput& out = network.output;
  const std::size_t d = stream.columns();
  std::size_t others = 0;  // tokens that are not patches
  for (const StoredTensor* token : network.input.leading) {
    others += static_cast<std::size_t>(element_count(token->shape).value_or(0)) / d;
  }
  if (network.input.registers != nullptr) {
    others += static_cast<std::size_t>(element_count(network.input.registers->shape).value_or(0)) / d;
  }
  std::vector<double> mean(d);
  for (std::size_t i = others; i < stream.rows(); ++i) {
    for (std::size_t j = 0; j < d; ++j) mean[j] += static_cast<double>(stream.row(i)[j]);
  }
  const auto patches = static_cast<double>(stream.rows() - others);

  Matrix logits(1, out.classifiers.front().out());
  Matrix one(1, logits.columns());
  for (std::size_t k = 0; k < out.classifiers.size(); ++k) {
    Matrix seen(1, out.classifiers[k].in());
    auto next = seen.row(0).begin();
    if (out.pooling != Pooling::kMean) next = std::ranges::copy(stream.row(k), next).out;
    if (out.pooling != Pooling::kFirst) {
      const auto pooled = next;
      for (std::size_t j = 0; j < d; ++j) *next++ = static_cast<float>(mean[j] / patches);
      const std::span<float> row(pooled, next);
      if (const auto norm = load_norm(model.checkpoint(), out.pooled_norm)) norm->apply_row(row, row);
    }
    apply_linear(model.checkpoint(), out.classifiers[k], seen.view(), one.span(), scratch);
    add_scaled(one.row(0), {}, logits.row(0));
  }
  for (float& logit : logits.values()) logit /= static_cast<float>(out.classifiers.size());
  check_finite(model, network, logits.view());
  receiver({input, 0, 1, logits.view()});
}

// Applies the steps up to the unembedding to groups of rows of the stream. The unembedding, the largest matrix, is
// decoded once.
class Unembedding {
 public:
  Unembedding(const Model& model, const Network& network, Buffer<float>& scratch)
      : checkpoint_(model.checkpoint()),
        out_(network.output),
        transform_norm_(load_norm(checkpoint_, out_.transform_norm)),
        weights_(linear_weights(checkpoint_, *out_.unembedding, scratch)) {
    if (out_.unembedding->bias != nullptr) bias_ = read_vector(checkpoint_, *out_.unembedding->bias);
  }

  /// Valid until the next call.
  MatrixSpan apply(MatrixView rows) {
    Matrix hidden(out_.transform ? rows.rows() : 0, out_.transform ? out_.transform->out() : 0);
    if (out_.transform) {
      apply_linear(checkpoint_, *out_.transform, rows, hidden.span(), small_scratch_);
      parallel_for_rows(hidden.rows(), [&](std::size_t i) { activate(out_.transform_activation, hidden.row(i)); });
      if (transform_norm_) transform_norm_->apply(hidden.view(), hidden.span());
      rows = hidden.view();
    }
    Matrix projected(out_.project ? rows.rows() : 0, out_.project ? out_.project->out() : 0);
    if (out_.project) {
      apply_linear(checkpoint_, *out_.project, rows, projected.span(), small_scratch_);
      rows = projected.view();
    }
    const MatrixSpan logits = logits_.sized(rows.rows(), weights_.columns());
    for (std::size_t i = 0; i < (bias_.empty() ? 0 : rows.rows()); ++i) std::ranges::copy(bias_, logits.row(i).begin());
    parallel_multiply(rows, weights_, logits, 1, bias_.empty() ? 0.0F : 1.0F);
    if (out_.logit_factor == 1 && out_.logit_cap <= 0) return logits;
    parallel_for_rows(logits.rows(), [&](std::size_t i) {
      for (float& logit : logits.row(i)) logit *= out_.logit_factor;
      if (out_.logit_cap > 0) soft_cap(logits.row(i), out_.logit_cap);
    });
    return logits;
  }

 private:
  const Checkpoint& checkpoint_;
  const NetworkOutput& out_;
  Buffer<float> small_scratch_;
  WorkMatrix logits_;
  std::optional<Norm> transform_norm_;
  MatrixView weights_;
  std::vector<float> bias_;
};

// The requested rows of several inputs, in groups that share one product with the unembedding.
class RowGroups {
 public:
  RowGroups(const Model& model, const Network& network, const std::function<void(const OutputRows&)>& receiver,
            std::size_t step, std::size_t width, Buffer<float>& scratch)
      : model_(model),
        network_(network),
        receiver_(receiver),
        unembedding_(model, network, scratch),
        rows_(step, width) {}

  void add(const OutputPart& part, std::size_t first, std::size_t end) {
    while (first < end) {
      const std::size_t count = std::min(end - first, rows_.rows() - used_);
      for (std::size_t i = 0; i < count; ++i) {
        std::ranges::copy(part.stream.row(first - part.first + i), rows_.row(used_ + i).begin());
      }
      pieces_.push_back({part.input, first, part.rows, used_, count});
      used_ += count;
      first += count;
      if (used_ == rows_.rows()) finish();
    }
  }

  void finish() {
    if (used_ == 0) return;
    const MatrixView logits = unembedding_.apply(rows_.view().block(0, used_, 0, rows_.columns())).view();
    check_finite(model_, network_, logits);
    for (const Piece& one : pieces_) {
      receiver_({one.input, one.first_row, one.rows, logits.block(one.at, one.count, 0, logits.columns())});
    }
    pieces_.clear();
    used_ = 0;
  }

 private:
  struct Piece {
    std::size_t input;
    std::size_t first_row;
    std::size_t rows;
    std::size_t at;
    std::size_t count;
  };
  const Model& model_;
  const Network& network_;
  const std::function<void(const OutputRows&)>& receiver_;
  Unembedding unembedding_;
  Matrix rows_;
  std::size_t used_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace

void write_output(const Model& model, const Network& network, std::span<const OutputPart> parts,
                  const ForwardOptions& options, std::size_t rows, Buffer<float>& scratch,
                  const std::function<void()>& poll) {
  const NetworkOutput& out = network.output;
  for (const OutputPart& part : parts) {
    if (const auto norm = load_norm(model.checkpoint(), out.norm)) norm->apply(part.stream.view(), part.stream);
  }
  std::optional<RowGroups> groups;
  if (out.classifiers.empty() && out.unembedding) {
    groups.emplace(model, network, options.on_output, rows, parts.front().stream.columns(), scratch);
  }
  for (const OutputPart& part : parts) {
    const std::size_t first = std::min(options.first_output, part.rows);
    const std::size_t end = std::min(options.end_output, part.rows);
    if (!out.classifiers.empty()) {
      classify(model, network, part.input, part.stream, options.on_output, scratch);
    } else if (groups) {
      groups->add(part, first, end);
    } else if (first < end) {
      const MatrixView wanted = part.stream.block(first - part.first, end - first, 0, part.stream.columns()).view();
      check_finite(model, network, wanted);
      options.on_output({part.input, first, part.rows, wanted});
    }
    poll();
  }
  if (groups) groups->finish();
}

std::size_t output_rows(const Network& network, std::size_t longest, std::size_t spare) {
  if (!network.output.unembedding) return longest;
  constexpr std::size_t kShared = 256;
  const std::size_t outputs = std::max<std::size_t>(network.output.unembedding->out(), 1);
  const std::size_t fitting = spare / ((outputs + network.output.unembedding->in()) * sizeof(float));
  return std::clamp<std::size_t>(kLogits / outputs, 1, std::max(longest, std::min(kShared, fitting)));
}

std::size_t output_memory(const Network& network, std::size_t rows) {
  if (!network.output.unembedding) return 0;
  std::size_t floats = rows * (network.output.unembedding->out() + network.output.unembedding->in());
  for (const auto* one : {&network.output.transform, &network.output.project}) {
    if (*one) floats += (*one)->in() * (*one)->out();
  }
  return floats * sizeof(float);
}

}  // namespace headscope
