#include "headscope/capture/detectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/base/random.h"
#include "headscope/forward/forward.h"
#include "headscope/forward/patch_grid.h"
#include "headscope/model/network.h"

namespace headscope {
namespace {

// Maximum number of tokens of an input; unlimited for models without learned positions.
std::size_t max_tokens(const Network& network, std::size_t d) {
  if (network.input.positions == nullptr) return std::numeric_limits<std::size_t>::max();
  const auto all = static_cast<std::size_t>(element_count(network.input.positions->shape).value_or(0)) / d;
  return all - std::min(all, network.input.position_offset);
}

std::optional<std::uint32_t> stated_bos(const Model& model) {
  const Checkpoint& checkpoint = model.checkpoint();
  std::optional<std::uint64_t> id = checkpoint.config().find("bos_token_id").as_unsigned();
  if (const auto stored = checkpoint.metadata("tokenizer.ggml.bos_token_id")) id = stored->as_unsigned();
  if (!id || *id > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*id);
}

// Distance from the query back to the detector's key.
std::size_t lag(Detector detector, std::size_t half) {
  switch (detector) {
    case Detector::kPrevious:
      return 1;
    case Detector::kIdentity:
      return 0;
    case Detector::kDuplicate:
      return half;
    case Detector::kInduction:
      return half - 1;
  }
  return 0;
}

// Whether the detector scores only queries in the second half.
bool is_of_second_half(Detector detector) {
  return detector == Detector::kDuplicate || detector == Detector::kInduction;
}

// First query that a detector scores, not counting BOS.
std::size_t first_scored(Detector detector, std::size_t half) {
  return is_of_second_half(detector) ? half : lag(detector, half);
}

// Scores at one length.
class Detection {
 public:
  // `is_second`: sequences other than those of the first length, of which they must not be a part.
  Detection(const Model& model, const DetectOptions& options, const Context& context, bool is_second = false)
      : model_(model),
        options_(options),
        is_second_(is_second),
        context_(context),
        network_(resolve_network(model)),
        sizes_(model.info().sizes) {
    result_.sequences = options.sequences;
    if (options.sequences == 0) throw Error(ErrorKind::kInvalidArgument, "detect: 0 sequences, expected at least 1");
    is_image_ = model.info().modality == Modality::kImage;
    is_image_ ? plan_images() : plan_tokens();
  }

  // Length and number of sequences of the second detection, in options for it; nothing if there is none.
  [[nodiscard]] std::optional<DetectOptions> second() const {
    if (is_image_ || options_.second_length == std::size_t{0}) return std::nullopt;
    DetectOptions again = options_;
    again.length = std::min(options_.second_length.value_or(2 * result_.length), room_);
    if (again.length == result_.length) again.length = result_.length / 4 * 2;
    if (again.length < 4 && options_.second_length.value_or(4) >= 4) return std::nullopt;  // too short to be halved
    const std::size_t as_many_tokens = options_.sequences * result_.length / std::max<std::size_t>(1, again.length);
    again.sequences = std::max<std::size_t>(2, as_many_tokens);
    return again;
  }

  DetectResult run() {
    // As many at a time as fit into one batch of the forward pass, so that memory does not grow with the number of
    // sequences.
    const std::size_t tokens = result_.length + (result_.bos ? 1 : 0);
    const std::size_t group = std::max<std::size_t>(kGroupTokens / tokens, 1);
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
    std::array<double, 4> sums = {};
    std::array<std::size_t, 4> counts = {};

    void add(const Sums& other) {
      for (std::size_t d = 0; d < 4; ++d) {
        sums[d] += other.sums[d];
        counts[d] += other.counts[d];
      }
    }
  };
  // Of the means of sequences.
  struct Spread {
    std::array<double, 4> sums = {};
    std::array<double, 4> squares = {};
    std::array<double, 4> first = {};  // subtracted from all, so that equal means give exactly 0

    void add(const Sums& sequence, bool is_first) {
      for (std::size_t d = 0; d < 4; ++d) {
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
    for (std::size_t s = first; s < first + count; ++s) inputs.push_back(is_image_ ? draw_image(s) : draw_tokens(s));
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

  void plan_tokens() {
    const std::size_t rows = network_.input.embedding->shape[0];
    vocabulary_ = options_.vocabulary > 0 ? std::min(options_.vocabulary, rows) : rows;
    const auto bos = options_.bos ? options_.bos : stated_bos(model_);
    if (!options_.without_bos && bos && *bos < rows) result_.bos = bos;
    const std::size_t positions = max_tokens(network_, sizes_.d_model);
    room_ = (positions - std::min<std::size_t>(positions, result_.bos ? 1 : 0)) / 2 * 2;
    result_.length = std::min(options_.length, room_);
    if (options_.length % 2 != 0 || result_.length < 4) {
      throw Error(
          ErrorKind::kInvalidArgument,
          fmt::format("detect: sequences of {} tokens, expected an even number from 4 to {}", options_.length, room_));
    }
  }

  [[nodiscard]] ModelInput draw_tokens(std::size_t sequence) const {
    Random random = is_second_ ? Random(options_.seed, {1, sequence}) : Random(options_.seed, {sequence});
    std::vector<std::uint32_t> half(result_.length / 2);
    for (std::uint32_t& id : half) {
      do id = static_cast<std::uint32_t>(random.index(vocabulary_));
      while (vocabulary_ > 1 && result_.bos == id);
    }
    ModelInput input;
    if (result_.bos) input.ids.push_back(*result_.bos);
    input.ids.insert(input.ids.end(), half.begin(), half.end());
    input.ids.insert(input.ids.end(), half.begin(), half.end());
    return input;
  }

  void plan_images() {
    const NetworkInput& in = network_.input;
    constexpr std::size_t kUsual = 224;
    image_ = {patch_kernel(in).channels, in.image_height > 0 ? in.image_height : kUsual,
              in.image_width > 0 ? in.image_width : kUsual};
    const auto size = element_count(image_);
    constexpr std::size_t kCopies = 4;
    require_memory(context_,
                   saturating_multiply(size.value_or(std::numeric_limits<std::size_t>::max()), kCopies * sizeof(float)),
                   fmt::format("{}: an image of {}", model_.checkpoint().path().string(), to_string(image_)));
    result_.length = token_count(model_, draw_image(0));
  }

  [[nodiscard]] ModelInput draw_image(std::size_t sequence) const {
    Pixels pixels{image_[0], image_[1], image_[2], std::vector<float>(image_[0] * image_[1] * image_[2])};
    Random(options_.seed, {sequence}).fill_normal(pixels.values);
    return {.pixels = std::move(pixels)};
  }

  [[nodiscard]] Part read(const MapRows& rows) const {
    const std::size_t skip = result_.bos ? 1 : 0;
    const std::size_t half = result_.length / 2;
    Part part{rows.first_query, {}};
    for (std::size_t i = 0; i < rows.values.rows(); ++i) {
      const std::size_t query = rows.first_query + i;
      if (query < skip) continue;
      for (std::size_t d = 0; d < kDetectors.size(); ++d) {
        const std::size_t back = lag(kDetectors[d], half);
        if (query - skip < first_scored(kDetectors[d], half)) continue;
        part.sums.sums[d] += static_cast<double>(rows.values(i, query - back));
        ++part.sums.counts[d];
      }
    }
    return part;
  }

  // Score of uniform attention.
  [[nodiscard]] double chance(Detector detector) const {
    const std::size_t skip = result_.bos ? 1 : 0;
    const std::size_t tokens = result_.length + skip;
    if (!network_.causal) return 1 / static_cast<double>(tokens);
    const std::size_t first = skip + first_scored(detector, result_.length / 2);
    double sum = 0;
    for (std::size_t query = first; query < tokens; ++query) sum += 1 / static_cast<double>(query + 1);
    return sum / static_cast<double>(tokens - first);
  }

  DetectResult collect() {
    for (std::size_t d = 0; d < 4; ++d) {
      if (!is_image_ || kDetectors[d] == Detector::kIdentity) result_.chance[d] = chance(kDetectors[d]);
    }
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      HeadScores scores{.head = {i / sizes_.heads, i % sizes_.heads}};
      for (std::size_t d = 0; d < 4; ++d) {
        const bool fits = !is_image_ || kDetectors[d] == Detector::kIdentity;
        if (!fits) continue;
        scores.scores[d] = sums_[i].sums[d] / static_cast<double>(sums_[i].counts[d]);
        if (options_.sequences > 1) scores.spread[d] = spreads_[i].deviation(d, options_.sequences);
      }
      result_.heads.push_back(scores);
    }
    return std::move(result_);
  }

  const Model& model_;
  const DetectOptions& options_;
  bool is_second_;
  Context context_;
  Network network_;
  const HeadSizes& sizes_;
  bool is_image_ = false;
  std::size_t vocabulary_ = 0;
  Shape image_;             // channels, height, width
  std::size_t room_ = 0;    // maximum length, even
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
