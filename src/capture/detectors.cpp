#include "headscope/capture/detectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "capture/detected_attention.h"
#include "capture/random_inputs.h"
#include "headscope/base/error.h"
#include "headscope/forward/forward.h"
#include "headscope/model/network.h"

namespace headscope {
namespace {

// Scores at one length.
class Detection {
 public:
  // `is_second`: see `RandomInputs`.
  Detection(const Model& model, const DetectOptions& options, const Context& context, bool is_second = false)
      : options_(options),
        model_(model),
        context_(context),
        network_(resolve_network(model)),
        sizes_(model.info().sizes),
        inputs_(model, network_, options, is_second, context),
        attentions_(inputs_.attentions()) {
    if (options.sequences == 0) throw Error(ErrorKind::kInvalidArgument, "detect: 0 sequences, expected at least 1");
    result_.sequences = options.sequences;
    result_.length = inputs_.length();
    result_.bos = inputs_.bos();
  }

  // Length and number of sequences of the second detection, in options for it; nothing if there is none.
  [[nodiscard]] std::optional<DetectOptions> second() const {
    if (!inputs_.has_sequence() || options_.second_length == std::size_t{0}) return std::nullopt;
    DetectOptions again = options_;
    again.length = std::min(options_.second_length.value_or(2 * result_.length), inputs_.room());
    if (again.length == result_.length) again.length = result_.length / 4 * 2;
    if (again.length < 4 && options_.second_length.value_or(4) >= 4) return std::nullopt;  // too short to be halved
    const std::size_t as_many_tokens = options_.sequences * result_.length / std::max<std::size_t>(1, again.length);
    again.sequences = std::max<std::size_t>(2, as_many_tokens);
    return again;
  }

  DetectResult run() {
    // As many at a time as fit into one batch of the forward pass, so that memory does not grow with the number of
    // sequences.
    const std::size_t group = std::max<std::size_t>(kGroupTokens / inputs_.tokens(), 1);
    sums_.resize(sizes_.layers * sizes_.heads);
    spreads_.resize(sums_.size());
    for (std::size_t first = 0; first < options_.sequences; first += group) {
      run_group(first, std::min(group, options_.sequences - first));
    }
    return collect();
  }

 private:
  static constexpr std::size_t kGroupTokens = 4096;

  struct Sums {
    std::array<double, kDetectors.size()> sums = {};
    std::array<std::size_t, kDetectors.size()> counts = {};

    void add(const Sums& other) {
      for (std::size_t d = 0; d < kDetectors.size(); ++d) {
        sums[d] += other.sums[d];
        counts[d] += other.counts[d];
      }
    }
  };
  // Of the means of sequences.
  struct Spread {
    std::array<double, kDetectors.size()> sums = {};
    std::array<double, kDetectors.size()> squares = {};
    std::array<double, kDetectors.size()> first = {};  // subtracted from all, so that equal means give exactly 0

    void add(const Sums& sequence, bool is_first) {
      for (std::size_t d = 0; d < kDetectors.size(); ++d) {
        if (sequence.counts[d] == 0) continue;
        const double mean = sequence.sums[d] / static_cast<double>(sequence.counts[d]);
        if (is_first) first[d] = mean;
        sums[d] += mean - first[d];
        squares[d] += (mean - first[d]) * (mean - first[d]);
      }
    }
    [[nodiscard]] double deviation(std::size_t d, std::size_t sequences) const {
      const auto n = static_cast<double>(sequences);
      return std::sqrt(std::max(0.0, squares[d] - sums[d] * sums[d] / n) / (n - 1));
    }
  };
  // A head's rows of one input may come from several threads: each block keeps its own sums, which are added in the
  // order of the queries.
  struct Part {
    std::size_t first_query;
    Sums sums;
  };

  void run_group(std::size_t first, std::size_t count) {
    std::vector<ModelInput> inputs;
    for (std::size_t s = first; s < first + count; ++s) inputs.push_back(inputs_.draw(s));
    const std::size_t heads = sums_.size();
    std::vector<std::vector<Part>> parts(count * heads);
    ForwardOptions pass;
    pass.on_pattern = [&](const MapRows& rows) {
      const Part part = read(rows);
      const std::lock_guard lock(mutex_);
      parts[rows.input * heads + rows.layer * sizes_.heads + rows.head].push_back(part);
    };
    const auto share = [&](std::size_t done) {
      return static_cast<double>(done) / static_cast<double>(options_.sequences);
    };
    run_forward(model_, inputs, pass, context_.part(share(first), share(first + count)));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::ranges::sort(parts[i], {}, &Part::first_query);
      Sums sequence;
      for (const Part& part : parts[i]) {
        sums_[i % heads].add(part.sums);
        sequence.add(part.sums);
      }
      spreads_[i % heads].add(sequence, first + i / heads == 0);
    }
  }

  [[nodiscard]] const DetectedAttention& attention_of(std::size_t layer) const {
    return *std::ranges::find(attentions_, sizes_.place(layer).block, &DetectedAttention::block);
  }

  [[nodiscard]] Part read(const MapRows& rows) const {
    const DetectedAttention& attention = attention_of(rows.layer);
    Part part{rows.first_query, {}};
    for (std::size_t d = 0; d < kDetectors.size(); ++d) {
      if (!attention.applies(kDetectors[d])) continue;
      for (std::size_t i = 0; i < rows.values.rows(); ++i) {
        const auto key = attention.key(kDetectors[d], rows.first_query + i);
        if (!key) continue;
        part.sums.sums[d] += static_cast<double>(rows.values(i, *key));
        ++part.sums.counts[d];
      }
    }
    return part;
  }

  DetectResult collect() {
    for (const DetectedAttention& attention : attentions_) {
      BlockChance& chance = result_.chance.emplace_back(BlockChance{.block = attention.block});
      for (std::size_t d = 0; d < kDetectors.size(); ++d) {
        if (attention.applies(kDetectors[d])) chance.scores[d] = attention.chance(kDetectors[d]);
      }
    }
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const std::size_t layer = i / sizes_.heads;
      HeadScores scores{.head = sizes_.head_of(layer, i % sizes_.heads)};
      for (std::size_t d = 0; d < kDetectors.size(); ++d) {
        if (!attention_of(layer).applies(kDetectors[d])) continue;
        scores.scores[d] = sums_[i].sums[d] / static_cast<double>(sums_[i].counts[d]);
        if (options_.sequences > 1) scores.spread[d] = spreads_[i].deviation(d, options_.sequences);
      }
      result_.heads.push_back(scores);
    }
    return std::move(result_);
  }

  const DetectOptions& options_;
  const Model& model_;
  Context context_;
  Network network_;
  const HeadSizes& sizes_;
  RandomInputs inputs_;
  std::vector<DetectedAttention> attentions_;
  std::vector<Sums> sums_;  // by layer * heads + head
  std::vector<Spread> spreads_;
  std::mutex mutex_;
  DetectResult result_;
};

}  // namespace

std::string_view to_string(Detector detector) noexcept {
  switch (detector) {
    case Detector::kPrevious:
      return "previous";
    case Detector::kIdentity:
      return "identity";
    case Detector::kDuplicate:
      return "duplicate";
    case Detector::kInduction:
      return "induction";
    case Detector::kNext:
      return "next";
    case Detector::kFirst:
      return "first";
  }
  return "unknown";
}

DetectResult detect(const Model& model, const DetectOptions& options, const Context& context) {
  Detection first(model, options, context.part(0, 0.5));
  const std::optional<DetectOptions> again = first.second();
  if (!again) return Detection(model, options, context).run();
  Detection other(model, *again, context.part(0.5, 1), true);  // checks the length before anything runs
  DetectResult result = first.run();
  const DetectResult second = other.run();
  result.second_sequences = second.sequences;
  result.second_length = second.length;
  result.second_chance = second.chance;
  for (std::size_t i = 0; i < result.heads.size(); ++i) {
    result.heads[i].second = second.heads[i].scores;
    result.heads[i].second_spread = second.heads[i].spread;
  }
  return result;
}

Detected is_detected(const HeadScores& head, Detector detector, double threshold) noexcept {
  const auto d = static_cast<std::size_t>(detector);
  const bool first = head.scores[d].value_or(-1) >= threshold;
  const bool second = head.second[d] ? *head.second[d] >= threshold : first;
  if (first && second) return Detected::kYes;
  return first || second ? Detected::kAtOneLength : Detected::kNo;
}

std::string labels_from(const DetectResult& result, double threshold, std::string_view name) {
  std::string classes;
  for (std::size_t d = 0; d < kDetectors.size(); ++d) {
    std::string heads;
    bool looked_for = false;
    for (const HeadScores& one : result.heads) {
      looked_for = looked_for || one.scores[d].has_value();
      if (is_detected(one, kDetectors[d], threshold) != Detected::kYes) continue;
      heads += fmt::format("{}\"{}\"", heads.empty() ? "" : ", ", to_string(one.head));
    }
    // A class without heads means that none was found; a label file needs at least one class.
    if (!looked_for) continue;
    classes += fmt::format("{}\n    \"{}\": [{}]", classes.empty() ? "" : ",", to_string(kDetectors[d]), heads);
  }
  const std::string quoted = nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string second = result.second_length > 0 ? fmt::format(" and {} of {}, reached at both",
                                                                    result.second_sequences, result.second_length)
                                                      : "";
  return fmt::format(
      "{{\n  \"name\": {},\n  \"source\": \"headscope detect, threshold {}, {} sequences of {} tokens{}\",\n"
      "  \"classes\": {{{}\n  }},\n  \"ignored\": [\"identity\"]\n}}\n",
      quoted, threshold, result.sequences, result.length, second, classes);
}

}  // namespace headscope
