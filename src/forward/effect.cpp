#include "headscope/forward/effect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "forward/parallel_rows.h"
#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/model/network.h"

namespace headscope {
namespace {

// x - ln sum exp x.
void log_softmax(std::span<float> x) {
  const double most = static_cast<double>(*std::ranges::max_element(x));
  double sum = 0;
  for (const float value : x) sum += std::exp(static_cast<double>(value) - most);
  const double shift = most + std::log(sum);
  for (float& value : x) value = static_cast<float>(static_cast<double>(value) - shift);
}

double sum_of_squares(std::span<const float> x, std::span<const float> y, double offset) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = static_cast<double>(x[i]) - (y.empty() ? 0 : static_cast<double>(y[i])) - offset;
    sum += difference * difference;
  }
  return sum;
}

double mean(std::span<const float> x) {
  double sum = 0;
  for (const float value : x) sum += static_cast<double>(value);
  return sum / static_cast<double>(x.size());
}

std::size_t likeliest(std::span<const float> x) {
  return static_cast<std::size_t>(std::ranges::max_element(x) - x.begin());
}

// Running sums over rows of output.
struct Tally {
  double loss = 0;
  std::size_t right = 0;
  std::size_t answers = 0;

  void add(std::span<const float> log_p, std::size_t answer) {
    loss -= static_cast<double>(log_p[answer]);
    right += likeliest(log_p) == answer ? 1U : 0U;
    ++answers;
  }
  [[nodiscard]] Performance performance() const {
    Performance result;
    result.answers = answers;
    if (answers == 0) return result;
    result.loss = loss / static_cast<double>(answers);
    result.accuracy = static_cast<double>(right) / static_cast<double>(answers);
    return result;
  }
};

// Returns the correct answer for a row of an input's output, if known.
std::optional<std::size_t> answer(const ModelInput& input, bool causal, std::span<const std::size_t> labels,
                                  std::size_t index, std::size_t row) {
  if (!labels.empty()) return labels[index];
  if (!input.target.empty()) {
    return row + 1 < input.target.size() ? std::optional<std::size_t>(input.target[row + 1]) : std::nullopt;
  }
  if (causal && row + 1 < input.ids.size()) return input.ids[row + 1];
  return std::nullopt;
}

// Effect of an intervention on one row of output.
struct RowEffect {
  double squares = 0;  // of the output before
  double changes = 0;  // of its change
  double kl = 0;
  double loss = 0;
  std::size_t agrees = 0;
  std::size_t right = 0;
  std::size_t answered = 0;
};

// `before` holds log-probabilities if there is a head; row i of `output` is the model's current output.
RowEffect row_effect(std::span<const float> before, MatrixView output, std::size_t i, std::optional<std::size_t> right,
                     bool has_head) {
  std::vector<float> row(output.columns());
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = output(i, j);
  if (has_head) log_softmax(row);
  RowEffect effect;
  // Logits are defined up to a constant, so their mean is ignored.
  const double center = has_head ? mean(before) : 0;
  effect.squares = sum_of_squares(before, {}, center);
  effect.changes = sum_of_squares(row, before, has_head ? mean(row) - center : 0);
  if (!has_head) return effect;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const double log_p = static_cast<double>(before[j]);
    effect.kl += std::exp(log_p) * (log_p - static_cast<double>(row[j]));
  }
  const std::size_t said = likeliest(row);
  effect.agrees = likeliest(before) == said ? 1 : 0;
  if (right) {
    effect.loss = -static_cast<double>(row[*right]);
    effect.right = said == *right ? 1 : 0;
    effect.answered = 1;
  }
  return effect;
}

}  // namespace

EffectMeter::EffectMeter(const Model& model, std::span<const ModelInput> inputs, std::span<const std::size_t> labels,
                         const Context& context)
    : model_(model), inputs_(inputs), labels_(labels.begin(), labels.end()), outputs_(inputs.size()) {
  if (inputs.empty()) throw Error(ErrorKind::kInvalidArgument, "no inputs to measure an effect on");
  const Network network = resolve_network(model);
  const NetworkOutput& out = network.output;
  has_head_ = out.unembedding || !out.classifiers.empty();
  if (!labels.empty() && (labels.size() != inputs.size() || out.classifiers.empty())) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} labels for {} inputs{}, expected one per input of a classifier", labels.size(),
                            inputs.size(), out.classifiers.empty() ? " of a model that does not classify" : ""));
  }
  const std::size_t width_of_output = !out.classifiers.empty() ? out.classifiers.front().out()
                                      : out.unembedding        ? out.unembedding->out()
                                                               : model.info().sizes.d_model;
  for (const ModelInput& input : inputs) {
    const std::size_t rows = out.classifiers.empty() ? token_counts(model, input).outputs() : 1;
    held_ = saturating_add(held_, saturating_multiply(rows, width_of_output * sizeof(float)));
  }
  require_memory(context, held_, fmt::format("keeping the outputs of {} inputs", inputs.size()));
  Tally tally;
  ForwardOptions pass;
  pass.on_output = [&](const OutputRows& rows) {
    const std::size_t width = rows.values.columns();
    std::vector<float>& output = outputs_[rows.input];
    if (output.empty()) output.resize(rows.rows * width);
    for (std::size_t i = 0; i < rows.values.rows(); ++i) {
      const std::size_t row = rows.first_row + i;
      const std::span<float> kept = std::span(output).subspan(row * width, width);
      for (std::size_t j = 0; j < width; ++j) kept[j] = rows.values(i, j);
      if (!has_head_) continue;
      log_softmax(kept);
      const auto right = answer(inputs_[rows.input], model_.info().causal, labels_, rows.input, row);
      if (right && *right >= width) {
        throw Error(ErrorKind::kInvalidArgument,
                    fmt::format("input {} has label {}, but the model has {} classes, numbered from 0", rows.input,
                                *right, width));
      }
      if (right) tally.add(kept, *right);
    }
  };
  run_forward(model, inputs, pass, context.without_memory(held_));
  before_ = tally.performance();
}

Effect EffectMeter::measure(std::span<const HeadReplacement> replacements, const Context& context) const {
  Tally tally;
  RowEffect sum;
  std::size_t rows_seen = 0;
  ForwardOptions pass;
  pass.replacements.assign(replacements.begin(), replacements.end());
  pass.on_output = [&](const OutputRows& rows) {
    const std::size_t width = rows.values.columns();
    std::vector<RowEffect> found(rows.values.rows());
    parallel_for_rows(rows.values.rows(), [&](std::size_t i) {
      const std::size_t index = rows.first_row + i;
      const auto right =
          has_head_ ? answer(inputs_[rows.input], model_.info().causal, labels_, rows.input, index) : std::nullopt;
      found[i] =
          row_effect(std::span(outputs_[rows.input]).subspan(index * width, width), rows.values, i, right, has_head_);
    });
    // Added in row order, regardless of the threads.
    for (const RowEffect& row : found) {
      sum.squares += row.squares;
      sum.changes += row.changes;
      sum.kl += row.kl;
      sum.agrees += row.agrees;
      tally.loss += row.loss;
      tally.right += row.right;
      tally.answers += row.answered;
    }
    rows_seen += found.size();
  };
  run_forward(model_, inputs_, pass, context.without_memory(held_));
  Effect effect;
  effect.before = before_;
  effect.after = tally.performance();
  effect.change = sum.squares > 0 ? std::sqrt(sum.changes / sum.squares) : 0;
  if (has_head_) {
    effect.kl = std::max(sum.kl / static_cast<double>(rows_seen), 0.0);
    effect.agreement = static_cast<double>(sum.agrees) / static_cast<double>(rows_seen);
  }
  return effect;
}

}  // namespace headscope
