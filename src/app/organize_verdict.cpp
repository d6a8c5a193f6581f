#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/input_folders.h"
#include "headscope/app/organize.h"
#include "headscope/base/median.h"

namespace headscope {
namespace {

// The gain of the network, typical and smallest and largest over the inputs (over the draws if there is one input).
struct Typical {
  double median = 1;
  double low = 1;
  double high = 1;
};

Typical typical_gain(const OrganizeOutcome& outcome, RowPermutation kind) {
  std::vector<double> gains;
  for (const OrganizedInput& input : outcome.inputs) gains.push_back(input.gain(kind).mean);
  const auto [low, high] = std::ranges::minmax(gains);
  if (gains.size() > 1) return {median(gains), low, high};
  const Gain one = outcome.inputs.front().gain(kind);
  return {one.mean, one.low, one.high};
}

// "1.4", with two decimals below 1.2, where the second one matters.
std::string times(double gain) {
  return gain < 1.195 ? fmt::format("{:.2f}x", gain) : fmt::format("{:.1f}x", gain);
}

// " (1.4 to 1.7 over 8 inputs)"
std::string spread(const OrganizeOutcome& outcome, const Typical& gain) {
  const std::size_t draws = outcome.inputs.front().rows.size();
  const std::string range = fmt::format("{:.2f} to {:.2f}", gain.low, gain.high);
  if (outcome.inputs.size() > 1) return fmt::format(" ({} over {} inputs)", range, outcome.inputs.size());
  if (draws > 1) return fmt::format(" ({} over {} draws, one input)", range, draws);
  return " (one input, one draw)";
}

std::string stability_sentence(const OrganizeOutcome& outcome) {
  std::vector<double> found;
  std::vector<double> control;
  for (const TreeStability& one : outcome.stability) {
    if (one.axis != TensorAxis::kHead) continue;
    found.push_back(one.found);
    control.push_back(one.control);
  }
  if (found.empty()) return {};
  return fmt::format(
      "The trees of heads agree between inputs with a median cophenetic correlation of {:.2f} (controls {:.2f}).",
      median(found), median(control));
}

std::vector<std::string> conclusions(const OrganizeOutcome& outcome) {
  const Typical rows = typical_gain(outcome, RowPermutation::kRows);
  const Typical keys = typical_gain(outcome, RowPermutation::kKeys);
  const std::string sparser = fmt::format(
      "he trees make the network {} sparser than maps with the same mask and row "
      "values{}",
      times(rows.median), spread(outcome, rows));
  const std::string kept = fmt::format("{} sparser than maps that also keep the mean attention to each key{}",
                                       times(keys.median), spread(outcome, keys));
  const auto gaining = std::ranges::count_if(outcome.inputs, [](const OrganizedInput& one) { return one.gains(); });
  std::vector<double> heads;
  for (const OrganizedInput& input : outcome.inputs) heads.push_back(static_cast<double>(input.heads_gaining()));
  const std::string share = fmt::format("{:.0f} of {} heads gain at least {:.1f}x over both", median(std::move(heads)),
                                        outcome.maps.head_names.size(), kHeadGain);
  std::vector<std::string> sentences;
  if (2 * static_cast<std::size_t>(gaining) > outcome.inputs.size()) {
    sentences.push_back(fmt::format("T{}.", sparser));
    sentences.push_back(fmt::format("They make it {}; {}.", kept, share));
  } else if (rows.median >= kNetworkGain) {
    sentences.push_back(
        fmt::format("No gain over the control beyond that of random weights: t{}, {}, and {}.", sparser, kept, share));
  } else {
    sentences.push_back(fmt::format("No gain over the control: t{}.", sparser));
  }
  if (const std::string stability = stability_sentence(outcome); !stability.empty()) sentences.push_back(stability);
  return sentences;
}

}  // namespace

std::vector<std::string> verdict(const OrganizeOutcome& outcome) {
  if (outcome.inputs.empty() || outcome.inputs.front().rows.empty()) return {};
  std::vector<std::string> sentences = conclusions(outcome);
  const std::string which =
      app::input_sentence("Trees and orders", outcome.inputs.front().name, outcome.inputs.size(), "the gains");
  if (!which.empty()) sentences.push_back(which);
  return sentences;
}

}  // namespace headscope
