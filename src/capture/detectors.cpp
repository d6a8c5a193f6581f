#include "headscope/capture/detectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>

#include "headscope/base/error.h"
#include "headscope/base/random.h"
#include "headscope/capture/forward.h"
#include "headscope/model/network.h"

namespace headscope {
namespace {

// Positions an input can have; a model with rotary positions has no end of them.
std::size_t most_tokens(const Network& network, std::size_t d) {
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

// How far back of the query a detector's key is.
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
  Detection(const Model& model, const DetectOptions& options)
      : model_(model), options_(options), network_(resolve_network(model)), sizes_(model.info().sizes) {
    result_.sequences = options.sequences;
    if (options.sequences == 0) throw Error(ErrorKind::kInvalidArgument, "detect: no sequences");
    is_image_ = model.info().modality == Modality::kImage;
    is_image_ ? draw_images() : draw_tokens();
  }

  DetectResult run() {
    ForwardOptions pass;
    pass.memory = options_.memory;
    pass.progress = options_.progress;
    // Every row adds to its own input's sums, and a head's rows of one input may come from several threads: each block
    // keeps its sums apart and they are added in the order of the queries.
    std::vector<std::vector<Part>> parts(options_.sequences * sizes_.layers * sizes_.heads);
    pass.on_pattern = [&](const MapRows& rows) {
      const std::size_t slot = (rows.input * sizes_.layers + rows.layer) * sizes_.heads + rows.head;
      const Part part = read(rows);
      const std::lock_guard lock(mutex_);
      parts[slot].push_back(part);
    };
    run_forward(model_, inputs_, pass);
    return collect(parts);
  }

 private:
  struct Part {
    std::size_t first_query;
    std::array<double, 4> sums;
    std::array<std::size_t, 4> counts;
  };

  void draw_tokens() {
    const std::size_t rows = network_.input.embedding->shape[0];
    const std::size_t vocabulary = options_.vocabulary > 0 ? std::min(options_.vocabulary, rows) : rows;
    const auto bos = options_.bos ? options_.bos : stated_bos(model_);
    if (!options_.without_bos && bos && *bos < rows) result_.bos = bos;
    const std::size_t room = most_tokens(network_, sizes_.d_model) - (result_.bos ? 1 : 0);
    result_.length = std::min(options_.length, room / 2 * 2);
    if (options_.length % 2 != 0 || result_.length < 4) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("detect: sequences of {} tokens, expected an even number from 4 to {}", options_.length,
                              room / 2 * 2));
    }
    for (std::size_t s = 0; s < options_.sequences; ++s) {
      Random random(options_.seed, {s});
      std::vector<std::uint32_t> half(result_.length / 2);
      for (std::uint32_t& id : half) {
        do id = static_cast<std::uint32_t>(random.index(vocabulary));
        while (vocabulary > 1 && result_.bos == id);
      }
      ModelInput input;
      if (result_.bos) input.ids.push_back(*result_.bos);
      input.ids.insert(input.ids.end(), half.begin(), half.end());
      input.ids.insert(input.ids.end(), half.begin(), half.end());
      inputs_.push_back(std::move(input));
    }
  }

  void draw_images() {
    const Shape& kernel = network_.input.patches.weight->shape;
    const std::size_t height = network_.input.image_height > 0 ? network_.input.image_height : 224;
    const std::size_t width = network_.input.image_width > 0 ? network_.input.image_width : 224;
    for (std::size_t s = 0; s < options_.sequences; ++s) {
      Pixels pixels{kernel[1], height, width, std::vector<float>(kernel[1] * height * width)};
      Random(options_.seed, {s}).fill_normal(pixels.values);
      inputs_.push_back({.pixels = std::move(pixels)});
    }
    result_.length = token_count(model_, inputs_.front());
  }

  [[nodiscard]] Part read(const MapRows& rows) const {
    const std::size_t skip = result_.bos ? 1 : 0;
    const std::size_t half = result_.length / 2;
    Part part{rows.first_query, {}, {}};
    for (std::size_t i = 0; i < rows.values.rows(); ++i) {
      const std::size_t query = rows.first_query + i;
      if (query < skip) continue;
      for (std::size_t d = 0; d < kDetectors.size(); ++d) {
        const std::size_t back = lag(kDetectors[d], half);
        const bool second_half = kDetectors[d] == Detector::kDuplicate || kDetectors[d] == Detector::kInduction;
        if (query - skip < (second_half ? half : back)) continue;
        part.sums[d] += static_cast<double>(rows.values(i, query - back));
        ++part.counts[d];
      }
    }
    return part;
  }

  DetectResult collect(std::vector<std::vector<Part>>& parts) {
    for (std::size_t layer = 0; layer < sizes_.layers; ++layer) {
      for (std::size_t head = 0; head < sizes_.heads; ++head) {
        std::array<double, 4> sums = {};
        std::array<std::size_t, 4> counts = {};
        for (std::size_t s = 0; s < options_.sequences; ++s) {
          std::vector<Part>& own = parts[(s * sizes_.layers + layer) * sizes_.heads + head];
          std::ranges::sort(own, {}, &Part::first_query);
          for (const Part& part : own) {
            for (std::size_t d = 0; d < 4; ++d) {
              sums[d] += part.sums[d];
              counts[d] += part.counts[d];
            }
          }
        }
        HeadScores scores{{layer, head}, {}};
        for (std::size_t d = 0; d < 4; ++d) {
          const bool fits = !is_image_ || kDetectors[d] == Detector::kIdentity;
          if (fits) scores.scores[d] = sums[d] / static_cast<double>(counts[d]);
        }
        result_.heads.push_back(scores);
      }
    }
    return std::move(result_);
  }

  const Model& model_;
  const DetectOptions& options_;
  Network network_;
  const HeadSizes& sizes_;
  bool is_image_ = false;
  std::vector<ModelInput> inputs_;
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

DetectResult detect(const Model& model, const DetectOptions& options) {
  return Detection(model, options).run();
}

std::string labels_from(const DetectResult& result, double threshold, std::string_view name) {
  std::string classes;
  for (std::size_t d = 0; d < kDetectors.size(); ++d) {
    std::string heads;
    for (const HeadScores& one : result.heads) {
      if (one.scores[d].value_or(-1) < threshold) continue;
      heads += fmt::format("{}\"{}\"", heads.empty() ? "" : ", ", to_string(one.head));
    }
    if (heads.empty()) continue;
    classes += fmt::format("{}\n    \"{}\": [{}]", classes.empty() ? "" : ",", to_string(kDetectors[d]), heads);
  }
  const bool has_identity = classes.find("\"identity\"") != std::string::npos;
  return fmt::format(
      "{{\n  \"name\": \"{}\",\n  \"source\": \"headscope detect, threshold {}, {} sequences of {} tokens\",\n"
      "  \"classes\": {{{}\n  }},\n  \"ignored\": [{}]\n}}\n",
      name, threshold, result.sequences, result.length, classes, has_identity ? "\"identity\"" : "");
}

}  // namespace headscope
