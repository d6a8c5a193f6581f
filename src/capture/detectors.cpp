#include "headscope/capture/detectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "headscope/base/error.h"
#include "headscope/base/random.h"
#include "headscope/forward/forward.h"
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

class Detection {
 public:
  Detection(const Model& model, const DetectOptions& options, const Context& context)
      : model_(model),
        options_(options),
        context_(context),
        network_(resolve_network(model)),
        sizes_(model.info().sizes) {
    result_.sequences = options.sequences;
    if (options.sequences == 0) throw Error(ErrorKind::kInvalidArgument, "detect: 0 sequences, expected at least 1");
    is_image_ = model.info().modality == Modality::kImage;
    is_image_ ? plan_images() : plan_tokens();
  }

  DetectResult run() {
    // As many at a time as fit into one batch of the forward pass, so that memory does not grow with the number of
    // sequences.
    const std::size_t tokens = result_.length + (result_.bos ? 1 : 0);
    const std::size_t group = std::max<std::size_t>(kGroupTokens / tokens, 1);
    sums_.resize(sizes_.layers * sizes_.heads);
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
      for (const Part& part : parts[i]) sums_[i % heads].add(part.sums);
    }
  }

  void plan_tokens() {
    const std::size_t rows = network_.input.embedding->shape[0];
    vocabulary_ = options_.vocabulary > 0 ? std::min(options_.vocabulary, rows) : rows;
    const auto bos = options_.bos ? options_.bos : stated_bos(model_);
    if (!options_.without_bos && bos && *bos < rows) result_.bos = bos;
    const std::size_t positions = max_tokens(network_, sizes_.d_model);
    const std::size_t room = positions - std::min<std::size_t>(positions, result_.bos ? 1 : 0);
    result_.length = std::min(options_.length, room / 2 * 2);
    if (options_.length % 2 != 0 || result_.length < 4) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("detect: sequences of {} tokens, expected an even number from 4 to {}", options_.length,
                              room / 2 * 2));
    }
  }

  [[nodiscard]] ModelInput draw_tokens(std::size_t sequence) const {
    Random random(options_.seed, {sequence});
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
    image_ = {in.patches.weight->shape[1], in.image_height > 0 ? in.image_height : kUsual,
              in.image_width > 0 ? in.image_width : kUsual};
    const auto size = element_count(image_);
    if (!size || *size > context_.memory / (4 * sizeof(float))) {
      throw Error(ErrorKind::kResource,
                  fmt::format("{}: an image of {} takes more than a quarter of the budget of {} MB",
                              model_.checkpoint().path().string(), to_string(image_), context_.memory >> 20));
    }
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
        const bool second_half = kDetectors[d] == Detector::kDuplicate || kDetectors[d] == Detector::kInduction;
        if (query - skip < (second_half ? half : back)) continue;
        part.sums.sums[d] += static_cast<double>(rows.values(i, query - back));
        ++part.sums.counts[d];
      }
    }
    return part;
  }

  DetectResult collect() {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      HeadScores scores{{i / sizes_.heads, i % sizes_.heads}, {}};
      for (std::size_t d = 0; d < 4; ++d) {
        const bool fits = !is_image_ || kDetectors[d] == Detector::kIdentity;
        if (fits) scores.scores[d] = sums_[i].sums[d] / static_cast<double>(sums_[i].counts[d]);
      }
      result_.heads.push_back(scores);
    }
    return std::move(result_);
  }

  const Model& model_;
  const DetectOptions& options_;
  const Context& context_;
  Network network_;
  const HeadSizes& sizes_;
  bool is_image_ = false;
  std::size_t vocabulary_ = 0;
  Shape image_;             // channels, height, width
  std::vector<Sums> sums_;  // by layer * heads + head
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
  return Detection(model, options, context).run();
}

std::string labels_from(const DetectResult& result, double threshold, std::string_view name) {
  std::string classes;
  for (std::size_t d = 0; d < kDetectors.size(); ++d) {
    std::string heads;
    bool looked_for = false;
    for (const HeadScores& one : result.heads) {
      looked_for = looked_for || one.scores[d].has_value();
      if (one.scores[d].value_or(-1) < threshold) continue;
      heads += fmt::format("{}\"{}\"", heads.empty() ? "" : ", ", to_string(one.head));
    }
    // A class without heads means that none was found; a label file needs at least one class.
    if (!looked_for) continue;
    classes += fmt::format("{}\n    \"{}\": [{}]", classes.empty() ? "" : ",", to_string(kDetectors[d]), heads);
  }
  const std::string quoted = nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return fmt::format(
      "{{\n  \"name\": {},\n  \"source\": \"headscope detect, threshold {}, {} sequences of {} tokens\",\n"
      "  \"classes\": {{{}\n  }},\n  \"ignored\": [\"identity\"]\n}}\n",
      quoted, threshold, result.sequences, result.length, classes);
}

}  // namespace headscope
