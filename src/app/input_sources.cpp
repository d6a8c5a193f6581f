#include "headscope/app/input_sources.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <system_error>
#include <utility>

#include "app/expand_paths.h"
#include "headscope/base/error.h"
#include "headscope/base/hash.h"
#include "headscope/base/memory.h"

namespace headscope {
namespace {

constexpr auto kTextExtensions = std::to_array<std::string_view>({".txt", ".text", ".md"});
constexpr auto kArrayExtensions = std::to_array<std::string_view>({".npy"});
constexpr auto kImageExtensions = std::to_array<std::string_view>({".png", ".jpg", ".jpeg"});

// The same inputs, with the files of folders instead of the folders.
InputSources with_files(InputSources inputs) {
  inputs.text_files =
      app::expand_paths(inputs.text_files, {"--text-file", "text file (.txt, .text, .md)", kTextExtensions});
  inputs.ids = app::expand_paths(inputs.ids, {"--ids", ".npy file", kArrayExtensions});
  inputs.images = app::expand_paths(inputs.images, {"--image", "PNG or JPEG file", kImageExtensions});
  inputs.pixels = app::expand_paths(inputs.pixels, {"--pixels", ".npy file", kArrayExtensions});
  inputs.features = app::expand_paths(inputs.features, {"--features", ".npy file", kArrayExtensions});
  return inputs;
}

void append(std::vector<DescribedInput>& all, std::vector<DescribedInput> more) {
  for (DescribedInput& one : more) all.push_back(std::move(one));
}

// Inputs in memory, named as those of a file called "ids" or "pixels" would be.
void append_in_memory(std::vector<DescribedInput>& all, InputReader& reader, const std::vector<ModelInput>& inputs) {
  std::size_t index = 0;
  for (const ModelInput& one : inputs) {
    const bool is_text = !one.ids.empty();
    const std::string kind = is_text ? "ids" : "pixels";
    const std::string source = inputs.size() == 1 ? kind : fmt::format("{}[{}]", kind, index++);
    all.push_back(is_text ? reader.ids(one.ids, source) : reader.pixels(one.pixels, source));
  }
}

// Bytes per token: its id and text, and its patch.
constexpr std::size_t kTokenBytes = 128;

// Checks that a file fits the budget if each of its bytes takes `factor` bytes.
void check_file(const std::filesystem::path& path, std::size_t factor, const Context& context) {
  std::error_code missing;  // reading it says what is wrong
  const std::uintmax_t size = std::filesystem::file_size(path, missing);
  if (missing || size == 0) return;
  require_memory(context, saturating_multiply(size, factor), fmt::format("{}: reading it", path.string()));
}

}  // namespace

void describe(InputSources& inputs, OptionList& options) {
  options.add("text", inputs.texts, "Text for the model's own tokenizer").repeated();
  options.add("text-file", inputs.text_files, "Files of text, or folders of them").repeated();
  options.add("ids", inputs.ids, "Token ids, npy files [tokens] or [inputs, tokens]").repeated();
  options
      .add("image", inputs.images,
           "PNG or JPEG files or folders of them, prepared as the model's preprocessor_config.json says")
      .repeated();
  options.add("pixels", inputs.pixels, "Normalized pixels, npy files [channels, height, width] or [images, ...]")
      .repeated();
  options
      .add("features", inputs.features,
           "Log-mel features of audio, npy files [bands, frames] or [inputs, bands, frames]")
      .repeated();
  options.add("lines", inputs.lines, "Each line of a text file is an input of its own");
  options.add("special", inputs.special, "Do not add the tokenizer's special tokens");
  options.add("max-tokens", inputs.max_tokens, "Maximum number of tokens per text; the rest is cut off");
}

void describe(TargetSources& targets, OptionList& options) {
  options
      .add("target", targets.texts,
           "Text that the decoder of a model with an encoder and a decoder reads; one per input, in the same order")
      .repeated();
  options
      .add("target-ids", targets.ids,
           "The same as token ids, npy files [tokens] or [inputs, tokens], with the token that decoding starts with")
      .repeated();
}

void read_targets(const Model& model, const InputSources& given, const TargetSources& targets,
                  std::vector<DescribedInput>& inputs) {
  const bool decodes = model.info().sizes.has_blocks();
  if (targets.empty() && !decodes) return;
  if (targets.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: the model has a decoder: give what it reads with --target or --target-ids, one per "
                            "input",
                            model.checkpoint().path().string()));
  }
  InputOptions options;
  if (!given.special) options.special = SpecialTokens::kNone;
  if (given.max_tokens && *given.max_tokens > 0) options.max_tokens = *given.max_tokens;
  InputReader reader(model, options);
  std::vector<DescribedInput> read;
  for (const std::string& text : targets.texts) read.push_back(reader.target(text));
  for (const auto& path : app::expand_paths(targets.ids, {"--target-ids", ".npy file", kArrayExtensions})) {
    append(read, reader.target_ids(path));
  }
  add_targets(inputs, read);
}

std::size_t memory_of(std::span<const DescribedInput> inputs) noexcept {
  std::size_t bytes = 0;
  for (const DescribedInput& one : inputs) {
    bytes += (one.input.pixels.values.size() + one.input.audio.values.size()) * sizeof(float) +
             (one.tokens.size() + one.target_tokens.size()) * kTokenBytes;
  }
  return bytes;
}

std::vector<DescribedInput> read_inputs(const Model& model, const InputSources& given, const Context& context) {
  if (given.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                "nothing to run the model on: give --text, --text-file, --ids, --image, --pixels or --features");
  }
  const InputSources inputs = with_files(given);
  InputOptions options;
  if (!inputs.special) options.special = SpecialTokens::kNone;
  if (inputs.max_tokens && *inputs.max_tokens > 0) options.max_tokens = *inputs.max_tokens;
  for (const auto& path : inputs.text_files) check_file(path, kTokenBytes, context);  // a token per byte
  for (const auto& path : inputs.ids) check_file(path, kTokenBytes / sizeof(std::uint16_t), context);
  for (const auto& path : inputs.pixels) check_file(path, 3 * sizeof(std::uint32_t), context);
  for (const auto& path : inputs.features) check_file(path, 3 * sizeof(std::uint32_t), context);
  InputReader reader(model, options);
  std::vector<DescribedInput> all;
  for (const std::string& text : inputs.texts) all.push_back(reader.text(text));
  for (const auto& path : inputs.text_files) append(all, reader.text_file(path, inputs.lines));
  for (const auto& path : inputs.ids) append(all, reader.ids(path));
  for (const auto& path : inputs.images) {
    all.push_back(reader.image(path));
    if (path != inputs.images.front()) continue;
    require_memory(context, saturating_multiply(memory_of(std::span(all).last(1)), inputs.images.size()),
                   fmt::format("reading {} images", inputs.images.size()));
  }
  for (const auto& path : inputs.pixels) append(all, reader.pixels(path));
  for (const auto& path : inputs.features) append(all, reader.features(path));
  append_in_memory(all, reader, inputs.in_memory);
  name_inputs(all);
  return all;
}

std::string fingerprint(std::span<const DescribedInput> inputs) {
  Hash hash;
  for (const DescribedInput& one : inputs) {
    const Pixels& pixels = one.input.pixels;
    for (const std::size_t extent : {one.input.ids.size(), pixels.channels, pixels.height, pixels.width})
      hash.add(extent);
    for (const std::uint32_t id : one.input.ids) hash.add(std::uint64_t{id});
    for (const float value : pixels.values) hash.add(std::uint64_t{std::bit_cast<std::uint32_t>(value)});
    if (one.input.target.empty()) continue;
    const AudioFeatures& audio = one.input.audio;
    for (const std::size_t extent : {one.input.target.size(), audio.bands, audio.frames}) hash.add(extent);
    for (const std::uint32_t id : one.input.target) hash.add(std::uint64_t{id});
    for (const float value : audio.values) hash.add(std::uint64_t{std::bit_cast<std::uint32_t>(value)});
  }
  return hash.digits();
}

}  // namespace headscope
