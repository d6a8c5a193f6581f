#include "headscope/capture/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "headscope/base/error.h"
#include "headscope/forward/patch_grid.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/decode.h"
#include "headscope/io/mapped_file.h"
#include "headscope/io/npy.h"
#include "headscope/model/network.h"
#include "headscope/tokenize/utf8.h"

namespace headscope {
namespace {

constexpr std::size_t kMaxTextLength = std::size_t{64} << 20;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

// Without the folder: a run may be shared, and says nothing about the machine it was made on.
std::string file_name(const std::filesystem::path& path) {
  return path.filename().string();
}

std::vector<std::string> image_token_names(const Network& network, std::size_t d) {
  std::vector<std::string> names;
  const auto count = [&](const StoredTensor& tokens) {
    return static_cast<std::size_t>(element_count(tokens.shape).value_or(0)) / d;
  };
  for (const StoredTensor* token : network.input.leading) {
    for (std::size_t i = 0; i < count(*token); ++i) names.push_back(names.empty() ? "[class]" : "[distillation]");
  }
  if (network.input.registers == nullptr) return names;
  for (std::size_t i = 0; i < count(*network.input.registers); ++i) names.push_back(fmt::format("[register {}]", i));
  return names;
}

}  // namespace

std::optional<std::string> unknown_tokens_warning(std::span<const DescribedInput> inputs) {
  constexpr double kMany = 0.1;
  std::size_t affected = 0;
  double largest = 0;
  for (const DescribedInput& input : inputs) {
    const auto unknown = std::ranges::count_if(
        input.tokens, [](const InputToken& token) { return token.text == "[UNK]" || token.text == "<unk>"; });
    const double fraction =
        static_cast<double>(unknown) / static_cast<double>(std::max<std::size_t>(1, input.tokens.size()));
    if (fraction > kMany) ++affected;
    largest = std::max(largest, fraction);
  }
  if (affected == 0) return std::nullopt;
  return fmt::format(
      "up to {:.0f} % of the tokens of {} are unknown to the tokenizer ([UNK]): its vocabulary may be of "
      "another language or case",
      100 * largest, inputs.size() == 1 ? "the input" : fmt::format("{} of {} inputs", affected, inputs.size()));
}

void name_inputs(std::span<DescribedInput> inputs) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    DescribedInput& input = inputs[i];
    const bool is_row = input.source.starts_with(input.file + "[");
    const std::string wanted = input.file.empty() ? fmt::format("input {}", i) : is_row ? input.source : input.file;
    input.name = wanted;
    for (std::size_t count = 2; !taken.insert(input.name).second; ++count) {
      input.name = fmt::format("{} ({})", wanted, count);
    }
  }
}

void add_targets(std::span<DescribedInput> inputs, std::span<const DescribedInput> targets) {
  if (inputs.size() != targets.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} input{} and {} target{}: give each input a target, in the same order", inputs.size(),
                            inputs.size() == 1 ? "" : "s", targets.size(), targets.size() == 1 ? "" : "s"));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].input.target = targets[i].input.ids;
    inputs[i].target_tokens = targets[i].tokens;
    inputs[i].target_source = targets[i].source;
  }
}

InputReader::InputReader(const Model& model, InputOptions options) : model_(model), options_(options) {}

void InputReader::expect(Modality modality) const {
  if (model_.info().modality == modality) return;
  const Modality taken = model_.info().modality;
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: the model takes {}", model_.checkpoint().path().string(),
                          taken == Modality::kImage   ? "images; use --image or --pixels"
                          : taken == Modality::kAudio ? "audio; use --features, and --target for the text"
                                                      : "tokens; use --text or --ids"));
}

void InputReader::expect_decoder() const {
  if (model_.info().sizes.has_blocks()) return;
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: the model has no decoder, so it takes no --target and no --target-ids",
                          model_.checkpoint().path().string()));
}

std::string InputReader::token_text(std::uint32_t id) {
  if (!looked_for_vocabulary_) vocabulary_ = Vocabulary::load(model_.checkpoint());
  looked_for_vocabulary_ = true;
  return vocabulary_ ? vocabulary_->token(id) : fmt::format("{}", id);
}

DescribedInput InputReader::text(std::string_view utf8) {
  expect(Modality::kText);
  return encoded(utf8);
}

DescribedInput InputReader::target(std::string_view utf8) {
  expect_decoder();
  const auto start = model_.checkpoint().config().find("decoder_start_token_id").as_unsigned();
  if (!start || *start > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: has no 'decoder_start_token_id', with which decoding starts; pass what the decoder "
                            "reads with --target-ids",
                            model_.checkpoint().config_path().string()));
  }
  DescribedInput result = encoded(utf8);
  std::vector<std::uint32_t>& ids = result.input.ids;
  const auto end = model_.checkpoint().config().find("eos_token_id").as_unsigned();
  if (ids.size() > 1 && end && ids.back() == *end) {
    ids.pop_back();
    result.tokens.pop_back();
  }
  if (ids.empty() || ids.front() != *start) {
    const auto first = static_cast<std::uint32_t>(*start);
    ids.insert(ids.begin(), first);
    result.tokens.insert(result.tokens.begin(), {.id = first, .text = token_text(first)});
  }
  return result;
}

DescribedInput InputReader::encoded(std::string_view utf8) {
  if (!tokenizer_) tokenizer_ = Tokenizer::load(model_.checkpoint());
  if (!tokenizer_) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: has no tokenizer (tokenizer.json, vocab.json with merges.txt, "
                            "vocab.txt); {}pass token ids with --ids",
                            model_.checkpoint().path().string(),
                            download_hint(model_.checkpoint().location(), "tokenizer.json")));
  }
  std::vector<Token> tokens = tokenizer_->encode(utf8, options_.special);
  if (utf8.empty() || tokens.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                utf8.empty() ? "the text is empty; give at least one word"
                             : fmt::format("the text {} has no token", printable(fmt::format("'{}'", utf8), 60)));
  }
  if (tokens.size() > options_.max_tokens) tokens.resize(options_.max_tokens);
  DescribedInput result;
  result.source = std::string(utf8);
  for (const Token& token : tokens) {
    result.input.ids.push_back(token.id);
    result.tokens.push_back({.id = token.id, .text = token_text(token.id), .begin = token.begin, .end = token.end});
  }
  return result;
}

std::vector<DescribedInput> InputReader::text_file(const std::filesystem::path& path, bool lines) {
  const MappedFile file = MappedFile::open(path);
  if (file.bytes().size() > kMaxTextLength) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: {} bytes of text, expected at most {}", path.string(),
                                                file.bytes().size(), kMaxTextLength));
  }
  std::string_view rest = as_text(file.bytes());
  if (const std::size_t valid = valid_utf8_prefix(rest); valid != rest.size()) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: byte {} of {} is not UTF-8; convert the text first", path.string(),
                                                valid, rest.size()));
  }
  std::vector<DescribedInput> all;
  if (!lines) {
    if (is_blank(rest)) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: has no text in it", path.string()));
    }
    all.push_back(text(rest));
    all.back().file = file_name(path);
    return all;
  }
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!is_blank(line)) all.push_back(text(line));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
  if (all.empty()) throw Error(ErrorKind::kFormat, fmt::format("{}: has no line with text in it", path.string()));
  for (DescribedInput& one : all) one.file = file_name(path);
  return all;
}

DescribedInput InputReader::ids(std::vector<std::uint32_t> ids, std::string source) {
  expect(Modality::kText);
  return listed(std::move(ids), std::move(source));
}

DescribedInput InputReader::listed(std::vector<std::uint32_t> ids, std::string source) {
  if (ids.size() > options_.max_tokens) ids.resize(options_.max_tokens);
  DescribedInput result;
  result.source = std::move(source);
  for (const std::uint32_t id : ids) result.tokens.push_back({.id = id, .text = token_text(id)});
  result.input.ids = std::move(ids);
  return result;
}

std::vector<DescribedInput> InputReader::ids(const std::filesystem::path& path) {
  expect(Modality::kText);
  return read_ids(path);
}

std::vector<DescribedInput> InputReader::target_ids(const std::filesystem::path& path) {
  expect_decoder();
  return read_ids(path);
}

DescribedInput InputReader::target_ids(std::vector<std::uint32_t> ids, std::string source) {
  expect_decoder();
  return listed(std::move(ids), std::move(source));
}

std::vector<DescribedInput> InputReader::read_ids(const std::filesystem::path& path) {
  const NpyFile file = NpyFile::open(path);
  const Shape& shape = file.array().shape;
  if (shape.empty() || shape.size() > 2 || element_count(shape) == 0U) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: is {}, expected token ids [tokens] or [inputs, tokens]",
                                                path.string(), to_string(shape)));
  }
  const std::vector<std::int64_t> values = npy_values<std::int64_t>(file.array(), path.string());
  std::vector<DescribedInput> all;
  for (std::size_t first = 0; first < values.size(); first += shape.back()) {
    std::vector<std::uint32_t> row;
    for (std::size_t i = first; i < first + shape.back(); ++i) {
      if (values[i] < 0 || values[i] > std::numeric_limits<std::uint32_t>::max()) {
        throw Error(ErrorKind::kFormat,
                    fmt::format("{}: {} at index {} is not a token id, expected a non-negative 32-bit integer",
                                path.string(), values[i], i));
      }
      row.push_back(static_cast<std::uint32_t>(values[i]));
    }
    const std::string name = file_name(path);
    all.push_back(listed(std::move(row), shape.size() == 1 ? name : fmt::format("{}[{}]", name, all.size())));
    all.back().file = name;
  }
  return all;
}

std::vector<DescribedInput> InputReader::features(const std::filesystem::path& path) {
  expect(Modality::kAudio);
  const Network network = resolve_network(model_);
  const std::size_t bands = network.input.convolutions.front().weight->shape[1];
  const NpyFile file = NpyFile::open(path);
  Shape shape = file.array().shape;
  if (shape.size() == 2) shape.insert(shape.begin(), 1);
  if (file.array().type.kind != 'f' || shape.size() != 3 || shape[1] != bands || element_count(shape) == 0U) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: is {}{}, expected log-mel features [{b}, frames] or [inputs, {b}, frames], as floats",
                            path.string(), to_string(file.array().shape),
                            file.array().type.kind == 'f' ? "" : " of other numbers", fmt::arg("b", bands)));
  }
  const std::vector<float> values = npy_values<float>(file.array(), path.string());
  if (const auto bad = find_non_finite(values)) {
    throw Error(ErrorKind::kNumeric, fmt::format("{}: the value at index {} is NaN or infinite", path.string(), *bad));
  }
  std::vector<DescribedInput> all;
  const std::size_t each = shape[1] * shape[2];
  for (std::size_t first = 0; first < values.size(); first += each) {
    DescribedInput& one = all.emplace_back();
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    one.input.audio = {shape[1], shape[2], {begin, begin + static_cast<std::ptrdiff_t>(each)}};
    one.file = file_name(path);
    one.source = shape[0] == 1 ? one.file : fmt::format("{}[{}]", one.file, all.size() - 1);
    const std::size_t tokens = frames_to_tokens(network.input, shape[2]);
    for (std::size_t t = 0; t < tokens; ++t)
      one.tokens.push_back({.text = fmt::format("frame {}", t * shape[2] / tokens)});
  }
  return all;
}

DescribedInput InputReader::image(const std::filesystem::path& path) {
  expect(Modality::kImage);
  if (!preprocessing_) preprocessing_ = load_preprocessing(model_.checkpoint());
  DescribedInput result = described(open_preprocessed(path, *preprocessing_), file_name(path));
  result.file = result.source;
  return result;
}

DescribedInput InputReader::image(Image image, const std::string& source) {
  expect(Modality::kImage);
  if (!preprocessing_) preprocessing_ = load_preprocessing(model_.checkpoint());
  const Image taken = with_channels(std::move(image), preprocessing_->channels);
  return described(preprocess(taken, *preprocessing_, source), source);
}

std::vector<DescribedInput> InputReader::pixels(const std::filesystem::path& path) {
  expect(Modality::kImage);
  const std::size_t channels = patch_kernel(resolve_network(model_).input).channels;
  std::vector<DescribedInput> all;
  for (Pixels& one : read_pixels(path, channels)) {
    all.push_back(pixels(std::move(one), fmt::format("{}[{}]", file_name(path), all.size())));
    all.back().file = file_name(path);
  }
  return all;
}

DescribedInput InputReader::pixels(Pixels pixels, std::string source) const {
  expect(Modality::kImage);
  const auto height = static_cast<double>(pixels.height);
  const auto width = static_cast<double>(pixels.width);
  const ImageSize size{pixels.height, pixels.width};
  return described({std::move(pixels), size, {0, 0, height, width}}, std::move(source));
}

DescribedInput InputReader::described(PreprocessedImage image, std::string source) const {
  const Network network = resolve_network(model_);
  const PatchKernel kernel = patch_kernel(network.input);
  const std::size_t height = kernel.height * network.input.merged;
  const std::size_t width = kernel.width * network.input.merged;
  DescribedInput result;
  result.source = std::move(source);
  result.picture = image.original;
  for (const std::string& name : image_token_names(network, model_.info().sizes.d_model)) {
    result.tokens.push_back({.text = name});
  }
  const std::size_t columns = image.pixels.width / width;
  const std::size_t rows = image.pixels.height / height;
  for (std::size_t i = 0; i < rows * columns; ++i) {
    PatchPlace place{i / columns, i % columns, {}};
    const auto top = static_cast<double>(place.row * height);
    const auto left = static_cast<double>(place.column * width);
    place.box = image.in_original({top, left, top + static_cast<double>(height), left + static_cast<double>(width)});
    result.tokens.push_back({.text = fmt::format("patch {},{}", place.row, place.column), .patch = place});
  }
  result.input.pixels = std::move(image.pixels);
  return result;
}

}  // namespace headscope
