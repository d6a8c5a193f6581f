#include "headscope/app/detect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "app/json_text.h"
#include "app/run_output.h"
#include "headscope/model/fingerprint.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/detect.h"

namespace headscope {
namespace {

using namespace app;

RunCommand describe_run(const DetectRequest& request, const Model& model) {
  RunCommand command = describe_command(request);
  describe_resources(command, request.resources);
  describe_model(command, model, fingerprint(model));
  return command;
}

// Names of the detectors with this result, separated by spaces.
std::string names_of(const HeadScores& head, Detected wanted, double threshold) {
  std::vector<std::string_view> names;
  for (const Detector detector : kDetectors) {
    const bool applies = head.scores[static_cast<std::size_t>(detector)].has_value();
    if (applies && is_detected(head, detector, threshold) == wanted) names.push_back(to_string(detector));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

// Whether a detector applies to any head.
bool is_used(const DetectResult& result, std::size_t detector) {
  return std::ranges::any_of(result.chance,
                             [&](const BlockChance& chance) { return chance.scores[detector].has_value(); });
}

// Names of things, shortened if they are many.
std::string joined(std::vector<std::string> names) {
  constexpr std::size_t kMaxShown = 8;
  const std::size_t count = names.size();
  if (count > kMaxShown) {
    names.resize(kMaxShown);
    names.push_back(fmt::format("and {} more", count - kMaxShown));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// "0.71 +- 0.02 (0.66 +- 0.03)": at the first and the second length.
std::string score_text(const HeadScores& head, std::size_t d) {
  const auto one = [](const std::optional<double>& score, const std::optional<double>& spread) {
    return fmt::format("{:.2f}{}", *score, spread ? fmt::format(" +- {:.2f}", *spread) : "");
  };
  std::string text = one(head.scores[d], head.spread[d]);
  if (head.second[d]) text += fmt::format(" ({})", one(head.second[d], head.second_spread[d]));
  return text;
}

// The heads that pass a detector, best first; if there are none, the best one.
std::string found_text(const DetectOutcome& outcome, std::size_t detector) {
  std::vector<HeadScores> heads = outcome.result.heads;
  std::erase_if(heads, [&](const HeadScores& head) { return !head.scores[detector]; });
  std::ranges::stable_sort(heads, std::greater{}, [&](const HeadScores& head) { return *head.scores[detector]; });
  std::vector<std::string> found;
  for (const HeadScores& head : heads) {
    if (is_detected(head, kDetectors[detector], outcome.threshold) != Detected::kYes) continue;
    found.push_back(fmt::format("{} {}", to_string(head.head), score_text(head, detector)));
  }
  if (!found.empty()) return joined(std::move(found));
  return fmt::format("none; the best is {} with {}", to_string(heads[0].head), score_text(heads[0], detector));
}

std::string_view kind_of(Detector detector) {
  switch (detector) {
    case Detector::kPrevious:
      return "previous-token";
    case Detector::kIdentity:
      return "identity";
    case Detector::kDuplicate:
      return "duplicate-token";
    case Detector::kInduction:
      return "induction";
    case Detector::kNext:
      return "next-token";
    case Detector::kFirst:
      return "first-token";
  }
  return "unknown";
}

std::size_t count(const DetectOutcome& outcome, Detector detector, Detected wanted) {
  return static_cast<std::size_t>(std::ranges::count_if(outcome.result.heads, [&](const HeadScores& head) {
    return is_detected(head, detector, outcome.threshold) == wanted;
  }));
}

// E.g. "2 previous-token and 3 induction heads of 32 at threshold 0.4, at both lengths (64 and 128 tokens)".
std::string headline(const DetectOutcome& outcome) {
  const DetectResult& result = outcome.result;
  std::vector<std::string> found;
  std::size_t detectors = 0;
  std::size_t last = 0;  // heads of the last kind that was found
  for (const Detector detector : kDetectors) {
    if (!is_used(result, static_cast<std::size_t>(detector))) continue;
    ++detectors;
    const std::size_t heads = count(outcome, detector, Detected::kYes);
    if (heads == 0) continue;
    found.push_back(fmt::format("{} {}", heads, kind_of(detector)));
    last = heads;
  }
  const std::string lengths =
      result.second_length > 0 ? fmt::format("at both lengths ({} and {} tokens)", result.length, result.second_length)
                               : fmt::format("at {} tokens, the only length", result.length);
  if (found.empty()) {
    return fmt::format(
        "No head of {} behaves as {} at threshold {}, {}", result.heads.size(),
        detectors == 1 ? "the only detector that applies" : fmt::format("any of the {} detectors", detectors),
        outcome.threshold, lengths);
  }
  std::string kinds = found.front();
  for (std::size_t i = 1; i < found.size(); ++i) kinds += (i + 1 == found.size() ? " and " : ", ") + found[i];
  return fmt::format("{} head{} of {} at threshold {}, {}", kinds, found.size() == 1 && last == 1 ? "" : "s",
                     result.heads.size(), outcome.threshold, lengths);
}

// The heads that reach the threshold at only one length; empty if there are none.
std::string disagreement(const DetectOutcome& outcome) {
  std::vector<std::string> heads;
  for (std::size_t d = 0; d < kDetectors.size(); ++d) {
    for (const HeadScores& head : outcome.result.heads) {
      if (is_detected(head, kDetectors[d], outcome.threshold) != Detected::kAtOneLength) continue;
      heads.push_back(fmt::format("{} {} {:.2f} and {:.2f}", to_string(head.head), to_string(kDetectors[d]),
                                  *head.scores[d], *head.second[d]));
    }
  }
  if (heads.empty()) return "";
  const std::size_t number = heads.size();
  return fmt::format("At only one of the lengths {} and {}, not counted: {} ({})", outcome.result.length,
                     outcome.result.second_length, joined(std::move(heads)),
                     number == 1 ? "1 case" : fmt::format("{} cases", number));
}

std::string block_name(Block block) {
  return block == Block::kCross ? "cross-attention" : fmt::format("the {}", to_string(block));
}

// What uniform attention scores, so that a reader can tell a small score from nothing.
std::string chance_text(const DetectResult& result) {
  std::vector<std::string> blocks;
  for (std::size_t b = 0; b < result.chance.size(); ++b) {
    const auto& [block, chance] = result.chance[b];
    std::vector<std::string> scores;
    for (std::size_t d = 0; d < kDetectors.size(); ++d) {
      if (!chance[d]) continue;
      const bool has_second = b < result.second_chance.size();
      const std::string second = has_second ? fmt::format(" ({:.3f})", *result.second_chance[b].scores[d]) : "";
      scores.push_back(fmt::format("{} {:.3f}{}", to_string(kDetectors[d]), *chance[d], second));
    }
    const std::string where = block == Block::kOnly ? "" : fmt::format(" in {}", block_name(block));
    blocks.push_back(fmt::format("{}{}", fmt::join(scores, ", "), where));
  }
  return fmt::format("Uniform attention scores {}", fmt::join(blocks, "; "));
}

std::vector<std::string> verdict(const DetectOutcome& outcome) {
  std::vector<std::string> sentences = {headline(outcome)};
  if (const std::string text = disagreement(outcome); !text.empty()) sentences.push_back(text);
  sentences.push_back(chance_text(outcome.result));
  for (std::string& sentence : sentences) sentence += ".";
  return sentences;
}

void add_lengths(const DetectOutcome& outcome, RunFolder& folder) {
  const DetectResult& result = outcome.result;
  Table table = make_table(run_files::kDetectorLengths);
  const auto add = [&](std::size_t length, std::size_t sequences, const std::vector<BlockChance>& blocks,
                       DetectorScores HeadScores::*scores) {
    for (const BlockChance& chance : blocks) {
      for (std::size_t d = 0; d < kDetectors.size(); ++d) {
        if (!chance.scores[d]) continue;
        const auto heads = static_cast<std::size_t>(std::ranges::count_if(result.heads, [&](const HeadScores& head) {
          return head.head.block == chance.block && (head.*scores)[d].value_or(-1) >= outcome.threshold;
        }));
        table.add_row({to_string(kDetectors[d]), length, sequences, *chance.scores[d], outcome.threshold, heads,
                       to_string(chance.block)});
      }
    }
  };
  add(result.length, result.sequences, result.chance, &HeadScores::scores);
  add(result.second_length, result.second_sequences, result.second_chance, &HeadScores::second);
  folder.add_table(run_files::kDetectorLengths, std::move(table));
}

}  // namespace

void describe(DetectRequest& request, OptionList& options) {
  describe(request.model, options);
  options.add("sequences", request.sequences, "Random sequences to average over").between(1, 100000);
  options.add("length", request.length, "Tokens per sequence; the second half repeats the first");
  options.add("second-length", request.second_length,
              "Another length at which heads are scored; 0 for none (default: twice --length)");
  options.add("bos", request.bos, "Do not start sequences with the model's BOS token");
  options.add("threshold", request.threshold, "Score from which a head counts as detected, at all lengths")
      .between(0, 1);
  options.add("labels", request.labels, "Also write labels.json, an input of relate --labels");
  options.add("seed", request.seed, "Seed of the sequences");
  describe(request.output, options);
  describe(request.resources, options);
}

std::optional<DetectOutcome> run(const DetectRequest& request, const Context& caller) {
  const Stopwatch watch;
  const Context context = make_context(request.resources, caller).on_one_rank();
  const auto opened = request.model.open();
  const Model& model = *opened;
  DetectOutcome outcome;
  outcome.model = model.info();
  outcome.options.sequences = request.sequences;
  outcome.options.length = request.length;
  outcome.options.second_length = request.second_length;
  outcome.options.seed = request.seed;
  outcome.options.without_bos = !request.bos;
  outcome.threshold = request.threshold;
  outcome.has_labels = request.labels;
  RunOutput output(target_of(request.output, model), describe_run(request, model), watch);
  outcome.result = detect(model, outcome.options, context.with_stage("running random sequences"));
  write(outcome, output.folder());
  outcome.files = output.finish(context);
  return outcome;
}

void write(const DetectOutcome& outcome, RunFolder& folder) {
  Table table = make_table(run_files::kDetectors);
  for (const HeadScores& head : outcome.result.heads) {
    std::vector<Cell> row = {to_string(head.head), head.head.layer, head.head.head};
    row.insert(row.end(), head.scores.begin(), head.scores.end());
    row.emplace_back(outcome.threshold);
    row.emplace_back(names_of(head, Detected::kYes, outcome.threshold));
    row.emplace_back(names_of(head, Detected::kAtOneLength, outcome.threshold));
    row.insert(row.end(), head.spread.begin(), head.spread.end());
    row.insert(row.end(), head.second.begin(), head.second.end());
    row.insert(row.end(), head.second_spread.begin(), head.second_spread.end());
    row.emplace_back(to_string(head.head.block));
    table.add_row(row);
  }
  folder.add_table(run_files::kDetectors, std::move(table));
  add_lengths(outcome, folder);
  folder.verdict() = verdict(outcome);
  if (outcome.has_labels) {
    folder.add_text(describe(run_files::kDetectedLabels), labels_from(outcome.result, outcome.threshold, "detected"));
  }
}

std::string summary(const DetectOutcome& outcome) {
  const DetectResult& result = outcome.result;
  const std::vector<std::string> sentences = verdict(outcome);
  std::string text = sentences.front() + "\n";
  const std::string second =
      result.second_length > 0 ? fmt::format(" ({} of {})", result.second_sequences, result.second_length) : "";
  text +=
      fmt::format("{} random sequences of {} tokens{}{}; mean +- standard deviation over sequences\n", result.sequences,
                  result.length, second, result.bos ? fmt::format(" after token {}", *result.bos) : "");
  for (std::size_t d = 0; d < kDetectors.size(); ++d) {
    if (!is_used(result, d)) continue;
    text += fmt::format("  {:<10} {}\n", to_string(kDetectors[d]), found_text(outcome, d));
  }
  for (std::size_t i = 1; i < sentences.size(); ++i) text += sentences[i] + "\n";
  return text + "\n" + files_line(outcome.files);
}

std::string to_json(const DetectOutcome& outcome) {
  const DetectResult& result = outcome.result;
  Json root = {{"verdict", verdict(outcome)},
               {"sequences", result.sequences},
               {"length", result.length},
               {"second_sequences", result.second_sequences},
               {"second_length", result.second_length},
               {"seed", outcome.options.seed},
               {"threshold", outcome.threshold},
               {"bos", result.bos ? Json(*result.bos) : Json()}};
  for (const HeadScores& head : result.heads) {
    Json entry = {{"head", to_string(head.head)}};
    for (std::size_t d = 0; d < kDetectors.size(); ++d) {
      const std::string name(to_string(kDetectors[d]));
      if (head.scores[d]) entry[name] = *head.scores[d];
      if (head.spread[d]) entry[name + "_sd"] = *head.spread[d];
      if (head.second[d]) entry[name + "_second"] = *head.second[d];
      if (head.second_spread[d]) entry[name + "_second_sd"] = *head.second_spread[d];
    }
    root["heads"].push_back(std::move(entry));
  }
  return json_text(root);
}

}  // namespace headscope
