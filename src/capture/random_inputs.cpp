#include "capture/random_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/base/random.h"
#include "headscope/forward/patch_grid.h"

namespace headscope {
namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// Maximum number of tokens that a stack reads.
std::size_t max_tokens(const NetworkInput& input, std::size_t d) {
  if (input.sinusoids > 0) return input.sinusoids;
  if (input.positions == nullptr) return kUnlimited;
  const auto all = static_cast<std::size_t>(element_count(input.positions->shape).value_or(0)) / d;
  return all - std::min(all, input.position_offset);
}

std::size_t less(std::size_t all, std::size_t taken) {
  return all - std::min(all, taken);
}

std::optional<std::uint32_t> as_id(std::optional<std::uint64_t> id) {
  if (!id || *id > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*id);
}

std::optional<std::uint32_t> stated_bos(const Checkpoint& checkpoint) {
  if (const auto stored = checkpoint.metadata("tokenizer.ggml.bos_token_id")) return as_id(stored->as_unsigned());
  return as_id(checkpoint.config().find("bos_token_id").as_unsigned());
}

std::uint32_t stated_start(const Checkpoint& checkpoint, std::size_t rows) {
  const auto start = as_id(checkpoint.config().find("decoder_start_token_id").as_unsigned());
  if (start && *start < rows) return *start;
  throw Error(ErrorKind::kFormat, fmt::format("{}: has no 'decoder_start_token_id', with which decoding starts",
                                              checkpoint.path().string()));
}

}  // namespace

RandomInputs::RandomInputs(const Model& model, const Network& network, const DetectOptions& options, bool is_second,
                           const Context& context)
    : model_(model), network_(network), seed_(options.seed), is_second_(is_second), modality_(model.info().modality) {
  if (modality_ == Modality::kImage) {
    plan_images(context);
  } else {
    plan_tokens(options);
    if (modality_ == Modality::kAudio) plan_audio();
  }
}

void RandomInputs::plan_tokens(const DetectOptions& options) {
  const std::size_t d = model_.info().sizes.d_model;
  const NetworkInput& last = network_.target ? *network_.target : network_.input;  // of the tokens that repeat
  const bool reads_text = modality_ == Modality::kText;
  std::size_t rows = last.embedding->shape[0];
  if (reads_text) rows = std::min(rows, network_.input.embedding->shape[0]);
  vocabulary_ = options.vocabulary > 0 ? std::min(options.vocabulary, rows) : rows;
  room_ = kUnlimited;
  if (reads_text) {
    const auto bos = options.bos ? options.bos : stated_bos(model_.checkpoint());
    if (!options.without_bos && bos && *bos < rows) bos_ = bos;
    room_ = less(max_tokens(network_.input, d), bos_ ? 1 : 0);
  }
  if (network_.target) {
    start_ = stated_start(model_.checkpoint(), last.embedding->shape[0]);
    room_ = std::min(room_, less(max_tokens(last, d), 1));
  }
  room_ = room_ / 2 * 2;
  length_ = std::min(options.length, room_);
  if (options.length % 2 != 0 || length_ < 4) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("detect: sequences of {} tokens, expected an even number from 4 to {}", options.length, room_));
  }
}

void RandomInputs::plan_audio() {
  source_ = std::min(length_, max_tokens(network_.input, model_.info().sizes.d_model));
}

void RandomInputs::plan_images(const Context& context) {
  const NetworkInput& in = network_.input;
  constexpr std::size_t kUsual = 224;
  image_ = {patch_kernel(in).channels, in.image_height > 0 ? in.image_height : kUsual,
            in.image_width > 0 ? in.image_width : kUsual};
  const auto size = element_count(image_);
  constexpr std::size_t kCopies = 4;
  require_memory(context, saturating_multiply(size.value_or(kUnlimited), kCopies * sizeof(float)),
                 fmt::format("{}: an image of {}", model_.checkpoint().path().string(), to_string(image_)));
  length_ = token_count(model_, draw_image(0));
}

std::vector<std::uint32_t> RandomInputs::repeated(std::size_t sequence) const {
  Random random = is_second_ ? Random(seed_, {1, sequence}) : Random(seed_, {sequence});
  std::vector<std::uint32_t> ids(length_ / 2);
  for (std::uint32_t& id : ids) {
    do id = static_cast<std::uint32_t>(random.index(vocabulary_));
    while (vocabulary_ > 1 && bos_ == id);
  }
  ids.reserve(length_);
  for (std::size_t i = 0; i < length_ / 2; ++i) ids.push_back(ids[i]);
  return ids;
}

ModelInput RandomInputs::draw_image(std::size_t sequence) const {
  Pixels pixels{image_[0], image_[1], image_[2], std::vector<float>(image_[0] * image_[1] * image_[2])};
  Random(seed_, {sequence}).fill_normal(pixels.values);
  return {.pixels = std::move(pixels)};
}

ModelInput RandomInputs::draw(std::size_t sequence) const {
  if (modality_ == Modality::kImage) return draw_image(sequence);
  ModelInput input;
  const std::vector<std::uint32_t> ids = repeated(sequence);
  if (modality_ == Modality::kAudio) {
    const std::vector<StoredLinear>& convolutions = network_.input.convolutions;
    AudioFeatures& audio = input.audio;
    audio.bands = convolutions.front().weight->shape[1];
    audio.frames = source_ << (convolutions.size() - 1);
    audio.values.resize(audio.bands * audio.frames);
    Random(seed_, {2, is_second_ ? std::uint64_t{1} : 0, sequence}).fill_normal(audio.values);
  } else {
    if (bos_) input.ids.push_back(*bos_);
    input.ids.insert(input.ids.end(), ids.begin(), ids.end());
  }
  if (start_) {
    input.target.push_back(*start_);
    input.target.insert(input.target.end(), ids.begin(), ids.end());
  }
  return input;
}

std::size_t RandomInputs::tokens() const noexcept {
  const std::size_t source = modality_ == Modality::kAudio ? source_ : length_ + (bos_ ? 1 : 0);
  return start_ ? source + length_ + 1 : source;
}

std::vector<DetectedAttention> RandomInputs::attentions() const {
  const std::size_t skip = bos_ ? 1 : 0;
  DetectedAttention source{.causal = network_.causal,
                           .has_sequence = modality_ == Modality::kText,
                           .length = length_,
                           .skip = skip,
                           .skipped_keys = skip,
                           .keys = length_ + skip};
  if (!start_) return {source};
  source.block = Block::kEncoder;
  source.causal = false;
  if (modality_ == Modality::kAudio) source.length = source.keys = source_;
  const DetectedAttention target{
      .block = Block::kDecoder, .causal = true, .length = length_, .skip = 1, .skipped_keys = 1, .keys = length_ + 1};
  const DetectedAttention cross{.block = Block::kCross,
                                .copies = source.has_sequence,
                                .length = length_,
                                .skip = 1,
                                .skipped_keys = skip,
                                .keys = source.keys};
  return {source, target, cross};
}

}  // namespace headscope
