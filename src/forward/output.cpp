#include "forward/output.h"

#include <fmt/format.h>

#include <algorithm>

#include "forward/parallel_rows.h"
#include "forward/weights.h"
#include "headscope/base/error.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/io/decode.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// Maximum number of logits held at a time, 64 MB: a whole input's logits may exceed the maps.
constexpr std::size_t kLogits = std::size_t{16} << 20;

std::size_t rows_at_once(std::size_t outputs, std::size_t tokens) {
  return std::clamp<std::size_t>(kLogits / std::max<std::size_t>(outputs, 1), 1, tokens);
}

// If the output is NaN or infinite, a weight of the head is broken or a value is out of float's range.
void check_finite(const Model& model, const Network& network, MatrixView values) {
  const Checkpoint& checkpoint = model.checkpoint();
  if (!find_non_finite({values.data(), values.rows() * values.columns()})) return;
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
      for (std::size_t j = 0; j < d; ++j) *next++ = static_cast<float>(mean[j] / patches);
    }
    apply_linear(model.checkpoint(), out.classifiers[k], seen.view(), one.span(), scratch);
    add_scaled(one.row(0), {}, logits.row(0));
  }
  for (float& logit : logits.values()) logit /= static_cast<float>(out.classifiers.size());
  check_finite(model, network, logits.view());
  receiver({input, 0, 1, logits.view()});
}

// Applies the steps up to the unembedding to groups of rows of the stream.
class Unembedding {
 public:
  Unembedding(const Model& model, const Network& network, Buffer<float>& scratch)
      : checkpoint_(model.checkpoint()),
        out_(network.output),
        scratch_(scratch),
        transform_norm_(load_norm(checkpoint_, out_.transform_norm)) {}

  Matrix apply(MatrixView rows) {
    Matrix hidden(rows.rows(), rows.columns());
    if (out_.transform) {
      apply_linear(checkpoint_, *out_.transform, rows, hidden.span(), scratch_);
      parallel_for_rows(hidden.rows(), [&](std::size_t i) { activate(out_.transform_activation, hidden.row(i)); });
      if (transform_norm_) transform_norm_->apply(hidden.view(), hidden.span());
      rows = hidden.view();
    }
    Matrix projected(out_.project ? rows.rows() : 0, out_.project ? out_.project->out() : 0);
    if (out_.project) {
      apply_linear(checkpoint_, *out_.project, rows, projected.span(), scratch_);
      rows = projected.view();
    }
    Matrix logits(rows.rows(), out_.unembedding->out());
    apply_linear(checkpoint_, *out_.unembedding, rows, logits.span(), scratch_);
    if (out_.logit_cap > 0) {
      parallel_for_rows(logits.rows(), [&](std::size_t i) { soft_cap(logits.row(i), out_.logit_cap); });
    }
    return logits;
  }

 private:
  const Checkpoint& checkpoint_;
  const NetworkOutput& out_;
  Buffer<float>& scratch_;
  std::optional<Norm> transform_norm_;
};

}  // namespace

void write_output(const Model& model, const Network& network, std::size_t input, MatrixSpan stream,
                  const std::function<void(const OutputRows&)>& receiver, Buffer<float>& scratch) {
  const NetworkOutput& out = network.output;
  if (const auto norm = load_norm(model.checkpoint(), out.norm)) norm->apply(stream.view(), stream);
  if (!out.classifiers.empty()) {
    classify(model, network, input, stream, receiver, scratch);
  } else if (out.unembedding) {
    Unembedding unembedding(model, network, scratch);
    const std::size_t step = rows_at_once(out.unembedding->out(), stream.rows());
    for (std::size_t first = 0; first < stream.rows(); first += step) {
      const std::size_t count = std::min(step, stream.rows() - first);
      const Matrix logits = unembedding.apply(stream.block(first, count, 0, stream.columns()).view());
      check_finite(model, network, logits.view());
      receiver({input, first, stream.rows(), logits.view()});
    }
  } else {
    check_finite(model, network, stream.view());
    receiver({input, 0, stream.rows(), stream.view()});
  }
}

std::size_t output_memory(const Network& network, std::size_t tokens) {
  if (!network.output.unembedding) return 0;
  const std::size_t outputs = network.output.unembedding->out();
  return rows_at_once(outputs, tokens) * outputs * sizeof(float);
}

}  // namespace headscope
