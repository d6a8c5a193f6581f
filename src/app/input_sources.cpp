#include "headscope/app/input_sources.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <system_error>
#include <utility>

#include "app/expand_paths.h"
#include "app/inline_ids.h"
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
  inputs.images = app::expand_paths(inputs.images, {"--image", "PNG or JPEG file", kImageExtensions});
  inputs.pixels = app::expand_paths(inputs.pixels, {"--pixels", ".npy file", kArrayExtensions});
  inputs.features = app::expand_paths(inputs.features, {"--features", ".npy file", kArrayExtensions});
  return inputs;
}

// The list of ids that a text is; nothing if it is the name of a file.
std::optional<std::vector<std::uint32_t>> inline_ids(const std::filesystem::path& text) {
  std::error_code ignored;
  if (std::filesystem::exists(text, ignored)) return std::nullopt;
  return app::parse_ids(text.string());
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

// Token ids of files, folders and lists, in the order in which they were given. `read` takes a file, or a list and what
// it is called.
template <typename Read>
std::vector<DescribedInput> read_ids(const std::vector<std::filesystem::path>& given, std::string_view name,
                                     const Read& read, const Context& context) {
  std::vector<DescribedInput> all;
  std::size_t lists = 0;
  const auto add_list = [&](std::vector<std::uint32_t> ids) {
    if (!ids.empty()) all.push_back(read(std::move(ids), fmt::format("{}[{}]", name, lists++)));
  };
  const std::string option = fmt::format("--{}", name);
  std::vector<std::uint32_t> numbers;  // --ids 1 2 3, or a shell's words of [1, 2, 3], are one list
  for (const std::filesystem::path& one : given) {
    const auto ids = inline_ids(one);
    if (ids && ids->size() == 1) {
      numbers.push_back(ids->front());
      continue;
    }
    add_list(std::exchange(numbers, {}));
    if (ids) {
      add_list(*ids);
      continue;
    }
    const std::string text = one.string();
    std::error_code ignored;
    if (text.find(',') != std::string::npos && !std::filesystem::exists(one, ignored)) {
      throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: expected a file or token ids such as 1,2,3, found '{}'",
                                                           option, printable(text, 60)));
    }
    for (const auto& path : app::expand_paths(std::span(&one, 1), {option, ".npy file", kArrayExtensions})) {
      check_file(path, kTokenBytes / sizeof(std::uint16_t), context);
      append(all, read(path));
    }
  }
  add_list(std::move(numbers));
  return all;
}

// A text that is a list of numbers is run as it is, since it may be meant; most often it is not.
void warn_of_ids(const std::string& text, const std::string& name, const Context& context) {
  if (!context.log || !app::looks_like_ids(text)) return;
  context.log(
      fmt::format("warning: {} looks like token ids and is read as text, digit by digit; for the ids themselves: "
                  "--ids 1,2,3",
                  name));
}

}  // namespace

void describe(InputSources& inputs, OptionList& options) {
  options.add("text", inputs.texts, "Text for the model's own tokenizer").repeated();
  options.add("text-file", inputs.text_files, "Files of text, or folders of them").repeated();
  options.add("ids", inputs.ids, "Token ids: npy files [tokens] or [inputs, tokens], or a list such as 1,2,3")
      .repeated();
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
  options.add("max-tokens", inputs.max_tokens, "Maximum number of tokens per text; the rest is cut off").at_least(1);
}

void describe(TargetSources& targets, OptionList& options) {
  options
      .add("target", targets.texts,
           "Text that the decoder of a model with an encoder and a decoder reads; one per input, in the same order")
      .repeated();
  options
      .add("target-ids", targets.ids,
           "The same as token ids, with the token that decoding starts with: npy files [tokens] or [inputs, tokens], "
           "or a "
           "list such as 0,1,2")
      .repeated();
}

void read_targets(const Model& model, const InputSources& given, const TargetSources& targets,
                  std::vector<DescribedInput>& inputs, const Context& context) {
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
  if (given.max_tokens) options.max_tokens = *given.max_tokens;
  InputReader reader(model, options);
  std::vector<DescribedInput> read;
  for (const std::string& text : targets.texts) read.push_back(reader.target(text));
  const auto as_ids = [&](auto&&... what) { return reader.target_ids(std::forward<decltype(what)>(what)...); };
  append(read, read_ids(targets.ids, "target-ids", as_ids, context));
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
  if (given.lines && given.text_files.empty()) {
    throw Error(ErrorKind::kInvalidArgument, "--lines is used only by --text-file");
  }
  const InputSources inputs = with_files(given);
  InputOptions options;
  if (!inputs.special) options.special = SpecialTokens::kNone;
  if (inputs.max_tokens) options.max_tokens = *inputs.max_tokens;
  for (const auto& path : inputs.text_files) check_file(path, kTokenBytes, context);  // a token per byte
  for (const auto& path : inputs.pixels) check_file(path, 3 * sizeof(std::uint32_t), context);
  for (const auto& path : inputs.features) check_file(path, 3 * sizeof(std::uint32_t), context);
  InputReader reader(model, options);
  std::vector<DescribedInput> all;
  for (const std::string& text : inputs.texts) {
    warn_of_ids(text, fmt::format("--text '{}'", printable(text, 40)), context);
    all.push_back(reader.text(text));
  }
  for (const auto& path : inputs.text_files) {
    append(all, reader.text_file(path, inputs.lines));
    if (!inputs.lines) warn_of_ids(all.back().source, path.filename().string(), context);
  }
  const auto as_ids = [&](auto&&... what) { return reader.ids(std::forward<decltype(what)>(what)...); };
  append(all, read_ids(inputs.ids, "ids", as_ids, context));
  for (const auto& path : inputs.images) {
    all.push_back(reader.image(path));
    if (path != inputs.images.front()) continue;
    require_memory(context, saturating_multiply(memory_of(std::span(all).last(1)), inputs.images.size()),
                   fmt::format("reading {} images", inputs.images.size()));
  }
  for (const NamedImage& one : inputs.pictures) {
    all.push_back(reader.image(one.image, one.name.empty() ? "image" : one.name));
    all.back().file = one.name;
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
