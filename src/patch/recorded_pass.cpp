#include "headscope/patch/recorded_pass.h"

#include <algorithm>

#include "headscope/base/error.h"
#include "headscope/base/memory.h"

namespace headscope {
namespace {

Matrix copy_of(MatrixView from) {
  Matrix to(from.rows(), from.columns());
  for (std::size_t i = 0; i < from.rows(); ++i) {
    for (std::size_t j = 0; j < from.columns(); ++j) to(i, j) = from(i, j);
  }
  return to;
}

}  // namespace

std::size_t record_memory(const HeadSizes& sizes, std::size_t tokens) {
  const std::size_t floats =
      saturating_multiply(saturating_multiply(tokens, sizes.layers), sizes.d_model + sizes.heads * sizes.d_head + 2);
  return saturating_multiply(floats, sizeof(float));
}

RecordedPass::RecordedPass(const Model& model, std::span<const ModelInput> inputs, const Context& context)
    : model_(model), inputs_(inputs) {
  if (inputs.empty()) throw Error(ErrorKind::kInvalidArgument, "no inputs to run the model on");
  const HeadSizes& sizes = model.info().sizes;
  std::size_t all = 0;
  for (const ModelInput& input : inputs) {
    tokens_.push_back(token_count(model, input));
    all += tokens_.back();
  }
  memory_ = record_memory(sizes, all);
  require_memory(context, memory_, "recording the activations");
  const std::size_t count = sizes.layers * inputs.size();
  streams_.resize(count);
  outputs_.resize(count);
  after_attention_.resize(count);
  after_mlp_.resize(count);
  ForwardOptions pass;
  pass.on_stream = [&](const StreamRows& rows) { streams_[at(rows.layer, rows.input)] = copy_of(rows.values); };
  pass.on_heads = [&](const HeadOutputs& rows) { outputs_[at(rows.layer, rows.input)] = copy_of(rows.values); };
  pass.on_norm = [&](const NormFactors& norm) {
    (norm.after_mlp ? after_mlp_ : after_attention_)[at(norm.layer, norm.input)].assign(norm.factors.begin(),
                                                                                        norm.factors.end());
  };
  run_forward(model, inputs, pass, context.without_memory(memory_));
}

MatrixView RecordedPass::stream(std::size_t layer, std::size_t input) const {
  return streams_[at(layer, input)].view();
}

MatrixView RecordedPass::output(HeadId head, std::size_t input) const {
  const std::size_t width = model_.info().sizes.d_head;
  return outputs_[at(head.layer, input)].view().block(0, tokens_[input], head.head * width, width);
}

std::vector<float> RecordedPass::mean_output(HeadId head) const {
  std::vector<double> sums(model_.info().sizes.d_head);
  double all = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const MatrixView rows = output(head, i);
    all += static_cast<double>(rows.rows());
    for (std::size_t t = 0; t < rows.rows(); ++t) {
      for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += static_cast<double>(rows(t, j));
    }
  }
  std::vector<float> mean(sums.size());
  std::ranges::transform(sums, mean.begin(), [&](double sum) { return static_cast<float>(sum / all); });
  return mean;
}

std::span<const float> RecordedPass::factors(std::size_t layer, bool after_mlp, std::size_t input) const {
  return (after_mlp ? after_mlp_ : after_attention_)[at(layer, input)];
}

}  // namespace headscope
