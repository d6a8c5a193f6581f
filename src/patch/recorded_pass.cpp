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

std::size_t record_memory(const HeadSizes& sizes, const TokenCounts& tokens, std::size_t sides) {
  const std::size_t source_layers = sizes.has_blocks() ? sizes.encoder_layers : sizes.layers;
  const std::size_t rows = saturating_add(saturating_multiply(tokens.source, source_layers),
                                          saturating_multiply(tokens.target, sizes.layers - source_layers));
  std::size_t floats = saturating_multiply(rows, sizes.d_model + sizes.heads * sizes.d_head + 2);
  if (sides > 0) {
    const std::size_t count = sides + 1;
    floats = saturating_add(floats, saturating_multiply(rows, sides * sizes.d_model + count * count + count));
  }
  if (sizes.has_blocks()) floats = saturating_add(floats, saturating_multiply(tokens.source, sizes.d_model));
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    if (!lends_keys(sizes, layer)) continue;
    floats = saturating_add(floats, saturating_multiply(tokens.source, 2 * sizes.kv_heads * sizes.d_head));
  }
  return saturating_multiply(floats, sizeof(float));
}

RecordedPass::RecordedPass(const Model& model, std::span<const ModelInput> inputs, const Context& context)
    : model_(model), inputs_(inputs) {
  if (inputs.empty()) throw Error(ErrorKind::kInvalidArgument, "no inputs to run the model on");
  const HeadSizes& sizes = model.info().sizes;
  TokenCounts all;
  for (const ModelInput& input : inputs) {
    counts_.push_back(token_counts(model, input));
    shapes_.push_back(input_shape(model, input));
    all.source += counts_.back().source;
    all.target += counts_.back().target;
  }
  memory_ = record_memory(sizes, all, resolve_network(model).side_streams.in.size());
  require_memory(context, memory_, "recording the activations");
  const std::size_t count = sizes.layers * inputs.size();
  streams_.resize(count);
  outputs_.resize(count);
  sides_.resize(count);
  predictions_.resize(count);
  corrections_.resize(count);
  encoder_outputs_.resize(inputs.size());
  after_attention_.resize(count);
  after_mlp_.resize(count);
  ForwardOptions pass;
  pass.on_stream = [&](const StreamRows& rows) { streams_[at(rows.layer, rows.input)] = copy_of(rows.values); };
  pass.on_side = [&](const SideRows& rows) { sides_[at(rows.layer, rows.input)].push_back(copy_of(rows.values)); };
  pass.on_mixing = [&](const StreamMixing& mixing) {
    (mixing.corrects ? corrections_ : predictions_)[at(mixing.layer, mixing.input)] = copy_of(mixing.factors);
  };
  pass.on_encoder_output = [&](const StreamRows& rows) { encoder_outputs_[rows.input] = copy_of(rows.values); };
  pass.on_heads = [&](const HeadOutputs& rows) { outputs_[at(rows.layer, rows.input)] = copy_of(rows.values); };
  pass.on_norm = [&](const NormFactors& norm) {
    (norm.after_mlp ? after_mlp_ : after_attention_)[at(norm.layer, norm.input)].assign(norm.factors.begin(),
                                                                                        norm.factors.end());
  };
  pass.on_lent_keys = [&](const LentRows& rows) {
    lent_.try_emplace(at(rows.layer, rows.input), copy_of(rows.keys), copy_of(rows.values));
  };
  run_forward(model, inputs, pass, context.without_memory(memory_));
}

MatrixView RecordedPass::stream(std::size_t layer, std::size_t input) const {
  return streams_[at(layer, input)].view();
}

std::vector<InputShape> RecordedPass::shapes(std::size_t layer) const {
  const Block block = model_.info().sizes.place(layer).block;
  if (block != Block::kDecoder && block != Block::kCross) return shapes_;
  std::vector<InputShape> targets;
  for (const TokenCounts& counts : counts_) targets.push_back({.tokens = counts.target});
  return targets;
}

MatrixView RecordedPass::side(std::size_t layer, std::size_t side, std::size_t input) const {
  return sides_[at(layer, input)][side].view();
}

MatrixView RecordedPass::mixing(std::size_t layer, bool corrects, std::size_t input) const {
  return (corrects ? corrections_ : predictions_)[at(layer, input)].view();
}

MatrixView RecordedPass::encoder_output(std::size_t input) const {
  return encoder_outputs_[input].view();
}

MatrixView RecordedPass::read(std::size_t layer, Role role, std::size_t input) const {
  const bool of_encoder = model_.info().sizes.place(layer).block == Block::kCross && is_key_value(role);
  return of_encoder ? encoder_output(input) : stream(layer, input);
}

LentRows RecordedPass::lent_keys(std::size_t layer, std::size_t input) const {
  const auto& [keys, values] = lent_.at(at(layer, input));
  return {input, layer, keys.view(), values.view()};
}

MatrixView RecordedPass::output(HeadId head, std::size_t input) const {
  const std::size_t layer = model_.info().sizes.layer_of(head).value();
  const std::size_t width = model_.info().sizes.width(layer, Role::kO);
  return outputs_[at(layer, input)].view().block(0, rows(layer, input), head.head * width, width);
}

std::vector<float> RecordedPass::mean_output(HeadId head) const {
  std::vector<double> sums(model_.info().sizes.width(model_.info().sizes.layer_of(head).value(), Role::kO));
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
