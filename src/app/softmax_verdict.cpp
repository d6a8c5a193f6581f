#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "app/input_folders.h"
#include "headscope/app/softmax.h"
#include "headscope/base/median.h"

namespace headscope {
namespace {

// The trees of scores and softmax agree more than those of permuted scores by at least this.
constexpr double kAgreement = 0.1;
// Below this correlation the trees have only some folders in common.
constexpr double kWhole = 0.5;
// The error of the paraproduct is below that of permuted scores by at least this fraction.
constexpr double kError = 0.05;

// If even permuted scores are expanded with an error below this, the softmax is nearly linear in the scores, and it
// keeps any organization. Random weights have errors of 0.00; trained models of 0.3 and more.
constexpr double kFlat = 0.1;

// Trees of fewer positions have so few folders that they agree by chance.
constexpr std::size_t kFewestPositions = 8;

template <typename Figure>
double median_over_inputs(const SoftmaxOutcome& outcome, const Figure& figure) {
  std::vector<double> values;
  for (const SoftmaxInput& input : outcome.inputs) values.push_back(figure(input));
  return median(std::move(values));
}

std::vector<std::string> conclusions(const SoftmaxOutcome& outcome) {
  const auto positions = [](const SoftmaxInput& one) { return std::min(one.queries, one.keys); };
  const SoftmaxInput& shortest = *std::ranges::min_element(outcome.inputs, {}, positions);
  if (positions(shortest) < kFewestPositions) {
    return {fmt::format("No conclusion: {} queries x {} keys are too few to compare trees; {} of each are needed.",
                        shortest.queries, shortest.keys, kFewestPositions)};
  }
  const double error = median_over_inputs(outcome, [](const SoftmaxInput& one) { return one.error; });
  const double error_control = median_over_inputs(outcome, [](const SoftmaxInput& one) { return one.error_control; });
  const double shuffled = median_over_inputs(outcome, [](const SoftmaxInput& one) { return one.error_shuffled; });
  const double agree = median_over_inputs(outcome, [](const SoftmaxInput& one) { return one.agreement; });
  const double chance = median_over_inputs(outcome, [](const SoftmaxInput& one) { return one.agreement_control; });
  const std::size_t inputs = outcome.inputs.size();
  const std::string scope = fmt::format("medians over {} heads{}", outcome.heads.size(),
                                        inputs > 1 ? fmt::format(" and {} inputs", inputs) : "");
  const std::string trees = fmt::format(
      "the trees of scores and softmax agree with a cophenetic correlation of {:.2f} (permuted scores {:.2f}; {})",
      agree, chance, scope);
  const std::string terms = fmt::format(
      "has a relative error of {:.2f} (permuted scores {:.2f}, shuffled trees {:.2f})", error, error_control, shuffled);
  if (error_control < kFlat) {
    return {
        fmt::format("No conclusion: the scores are so flat that the softmax is nearly linear and keeps any "
                    "organization (error of the paraproduct {:.2g}, permuted scores {:.2g}; {}).",
                    error, error_control, scope)};
  }
  std::vector<std::string> sentences;
  const char* part = agree < kWhole ? " in part" : "";
  sentences.push_back(agree >= chance + kAgreement
                          ? fmt::format("The organization survives the softmax{}: {}.", part, trees)
                          : fmt::format("No gain over the control: {}.", trees));
  const bool informative = error <= (1 - kError) * error_control && error <= (1 - kError) * shuffled;
  sentences.push_back(informative ? fmt::format("The paraproduct {}.", terms)
                                  : fmt::format("The paraproduct is uninformative here: it {}.", terms));
  return sentences;
}

}  // namespace

std::vector<std::string> verdict(const SoftmaxOutcome& outcome) {
  if (outcome.inputs.empty() || std::isnan(outcome.inputs.front().error_control)) return {};
  std::vector<std::string> sentences = conclusions(outcome);
  const std::string which =
      app::input_sentence("The tables of heads", outcome.inputs.front().name, outcome.inputs.size(), "these medians");
  if (!which.empty()) sentences.push_back(which);
  return sentences;
}

}  // namespace headscope
