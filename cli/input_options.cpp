#include "cli/input_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstdint>

#include "cli/host.h"
#include "headscope/base/error.h"

namespace headscope::cli {
namespace {

void append(std::vector<DescribedInput>& all, std::vector<DescribedInput> more) {
  for (DescribedInput& one : more) all.push_back(std::move(one));
}

std::string joined(const std::vector<std::filesystem::path>& paths) {
  std::string text;
  for (const auto& path : paths) text += (text.empty() ? "" : ",") + path.string();
  return text;
}

// A host's inputs, called as those of a file of that name would be.
std::vector<DescribedInput> described(InputReader& reader, const std::vector<ModelInput>& inputs,
                                      const std::string& name) {
  std::vector<DescribedInput> all;
  for (const ModelInput& one : inputs) {
    const std::string source = inputs.size() == 1 ? name : fmt::format("{}[{}]", name, all.size());
    all.push_back(one.ids.empty() ? reader.pixels(one.pixels, source) : reader.ids(one.ids, source));
  }
  return all;
}

}  // namespace

std::string InputWords::described() const {
  return fmt::format("texts {} files {} ids {} images {} pixels {} lines {} special {} tokens {}", texts,
                     joined(text_files), joined(ids), joined(images), joined(pixels), lines, !no_special, max_tokens);
}

void add_input_options(Command& command, InputWords& words) {
  const auto several = [&](const char* name, auto& values, const char* about) {
    command.add_option(name, values, about).repeated();
  };
  several("--text", words.texts, "Text for the model's own tokenizer; may stand several times, as all inputs may");
  several("--text-file", words.text_files, "A file of text");
  several("--ids", words.ids, "Token ids, an npy file [tokens] or [inputs, tokens]");
  several("--image", words.images, "A PNG or JPEG file, prepared as the model's preprocessor_config.json says");
  several("--pixels", words.pixels, "Normalized pixels, an npy file [channels, height, width] or [images, ...]");
  command.add_flag("--lines", words.lines, "Each line of a text file is an input of its own");
  command.add_flag("--no-special", words.no_special, "Do not add the tokenizer's special tokens");
  command.add_option("--max-tokens", words.max_tokens, "Cut texts after so many tokens");
}

std::string fingerprint(std::span<const DescribedInput> inputs) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a, 64 bits
  const auto add = [&](std::uint64_t number) {
    for (unsigned shift = 0; shift < 64; shift += 8) hash = (hash ^ (number >> shift & 0xFF)) * 0x100000001B3U;
  };
  for (const DescribedInput& one : inputs) {
    const Pixels& pixels = one.input.pixels;
    for (const std::size_t extent : {one.input.ids.size(), pixels.channels, pixels.height, pixels.width}) add(extent);
    for (const std::uint32_t id : one.input.ids) add(id);
    for (const float value : pixels.values) add(std::bit_cast<std::uint32_t>(value));
  }
  return fmt::format("{:016x}", hash);
}

std::vector<DescribedInput> read_inputs(const Model& model, const InputWords& words, const Session& session) {
  if (words.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                "nothing to run the model on: give --text, --text-file, --ids, --image or "
                "--pixels");
  }
  InputOptions options;
  if (words.no_special) options.special = SpecialTokens::kNone;
  if (words.max_tokens > 0) options.max_tokens = words.max_tokens;
  InputReader reader(model, options);
  std::vector<DescribedInput> all;
  for (const std::string& text : words.texts) all.push_back(reader.text(text));
  for (const auto& path : words.text_files) append(all, reader.text_file(path, words.lines));
  for (const auto& path : words.ids) {
    const auto* given = given_inputs(session, path);
    append(all, given == nullptr ? reader.ids(path) : described(reader, *given, path.string()));
  }
  for (const auto& path : words.images) all.push_back(reader.image(path));
  for (const auto& path : words.pixels) {
    const auto* given = given_inputs(session, path);
    append(all, given == nullptr ? reader.pixels(path) : described(reader, *given, path.string()));
  }
  return all;
}

}  // namespace headscope::cli
