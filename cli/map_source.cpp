#include "cli/map_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "cli/host.h"
#include "headscope/base/error.h"
#include "headscope/io/decode.h"
#include "headscope/io/json.h"
#include "headscope/io/npy.h"
#include "headscope/io/npz.h"
#include "headscope/io/safetensors.h"
#include "headscope/model/head_id.h"

namespace headscope::cli {
namespace {

namespace fs = std::filesystem;
using Range = std::pair<std::size_t, std::size_t>;  // from first up to, not with, second

// "7" or "3-5", both ends included.
std::optional<Range> parse_range(std::string_view text) {
  Range range{};
  const auto take = [&](std::size_t& number) {
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return true;
  };
  if (!take(range.first)) return std::nullopt;
  range.second = range.first;
  if (!text.empty()) {
    if (text.front() != '-') return std::nullopt;
    text.remove_prefix(1);
    if (!take(range.second) || !text.empty()) return std::nullopt;
  }
  if (range.second < range.first || range.second == std::numeric_limits<std::size_t>::max()) return std::nullopt;
  ++range.second;
  return range;
}

Range checked_range(const std::string& text, std::string_view option) {
  const auto range = parse_range(text);
  if (range) return *range;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}: '{}' is neither a number nor a range like 3-5", option, printable(text)));
}

// An array with what is known about it.
struct LoadedArray {
  std::vector<float> owned;
  Shape shape;
  std::string where;
  std::span<const float> given = {};  // a host's, in place of `owned`

  [[nodiscard]] std::span<const float> values() const noexcept { return given.empty() ? owned : given; }
};

void check_size(std::span<const std::size_t> shape, std::size_t memory, const std::string& where) {
  const auto elements = element_count(shape);
  if (elements && *elements <= memory / (3 * sizeof(float))) return;
  throw Error(ErrorKind::kResource,
              fmt::format("{}: an array of {} takes three times its size here, more than the budget of {} MB; raise "
                          "--memory",
                          where, to_string(shape), memory >> 20));
}

LoadedArray load_npy(const fs::path& path, std::size_t memory) {
  const NpyFile file = NpyFile::open(path);
  check_size(file.array().shape, memory, path.string());
  return {npy_values<float>(file.array(), path.string()), file.array().shape, path.string()};
}

// The only name, or the one asked for.
std::string choose_array(const std::vector<std::string>& names, const std::string& wanted, const fs::path& path) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (name == wanted) return name;
    shown.push_back(printable(name));
  }
  if (names.size() == 1 && wanted.empty()) return names.front();
  throw Error(wanted.empty() ? ErrorKind::kInvalidArgument : ErrorKind::kFormat,
              wanted.empty() ? fmt::format("{}: holds {} arrays ({}), choose one with --array", path.string(),
                                           names.size(), fmt::join(shown, ", "))
                             : fmt::format("{}: has no array '{}', only {}", path.string(), printable(wanted),
                                           fmt::join(shown, ", ")));
}

LoadedArray load_npz(const fs::path& path, const std::string& wanted, std::size_t memory) {
  const NpzFile file = NpzFile::open(path);
  const std::string name = choose_array(file.names(), wanted, path);
  const auto array = file.find(name);
  const std::string where = fmt::format("{}: array '{}'", path.string(), printable(name));
  check_size(array->view().shape, memory, where);
  return {npy_values<float>(array->view(), where), array->view().shape, where};
}

LoadedArray load_safetensors(const fs::path& path, const std::string& wanted, std::size_t memory) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  std::vector<std::string> names;
  for (const StoredTensor& tensor : file.tensors()) names.push_back(tensor.name);
  const std::string name = choose_array(names, wanted, path);
  const StoredTensor& tensor = *std::ranges::find(file.tensors(), name, &StoredTensor::name);
  LoadedArray result{{}, tensor.shape, fmt::format("{}: tensor '{}'", path.string(), printable(name))};
  check_size(result.shape, memory, result.where);
  result.owned.resize(static_cast<std::size_t>(element_count(tensor.shape).value_or(0)));
  decode(tensor.dtype, tensor.bytes, result.owned);
  return result;
}

LoadedArray load_file(const fs::path& path, const std::string& wanted, std::size_t memory, const Session& session) {
  if (const GivenArray* given = given_array(session, path)) {
    check_size(given->shape, memory, path.string());
    return {{}, given->shape, path.string(), given->values};
  }
  const std::string extension = path.extension().string();
  if (extension == ".npy") return load_npy(path, memory);
  if (extension == ".npz") return load_npz(path, wanted, memory);
  if (extension == ".safetensors") return load_safetensors(path, wanted, memory);
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: expected a folder with maps, or an .npy, .npz or .safetensors file", path.string()));
}

// What tokens.json says about the maps beside it.
struct RunMaps {
  bool causal = false;
  std::optional<std::size_t> first_query;
  std::vector<std::size_t> windows;  // by layer; 0: none
  std::vector<std::string> heads;
  std::vector<std::string> tokens;
};

// The one place that knows how `capture` describes maps.
RunMaps parse_tokens(const JsonValue root, const fs::path& path) {
  RunMaps maps;
  const auto mask = root.find("mask").as_string();
  if (!root.find("mask").is_null() && mask != "causal" && mask != "none") {
    throw Error(ErrorKind::kFormat, fmt::format("{}: 'mask' is neither \"causal\" nor \"none\"", path.string()));
  }
  maps.causal = mask == "causal";
  if (const auto first = root.find("first_query").as_unsigned()) maps.first_query = static_cast<std::size_t>(*first);
  for (const JsonValue window : root.find("windows").items()) {
    maps.windows.push_back(static_cast<std::size_t>(window.as_unsigned().value_or(0)));
  }
  for (const JsonValue head : root.find("heads").items()) {
    maps.heads.emplace_back(printable(head.as_string().value_or("?")));
  }
  for (const JsonValue token : root.find("tokens").items()) {
    const auto text = token.is_object() ? token.find("text").as_string() : token.as_string();
    maps.tokens.emplace_back(text.value_or(""));
  }
  return maps;
}

RunMaps read_tokens(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  const JsonDocument document = JsonDocument::open(path);
  return parse_tokens(document.root(), path);
}

// Causal within the window of each head's layer, [head, query, key].
std::vector<float> window_mask(const RunMaps& maps, const Shape& shape) {
  std::vector<float> mask(static_cast<std::size_t>(element_count(shape).value_or(0)));
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const std::size_t head = i / (shape[1] * shape[2]);
    const std::size_t query = i / shape[2] % shape[1] + maps.first_query.value_or(0);
    const std::size_t key = i % shape[2];
    const auto id = head < maps.heads.size() ? parse_head(maps.heads[head]) : std::nullopt;
    const std::size_t window = id && id->layer < maps.windows.size() ? maps.windows[id->layer] : 0;
    mask[i] = (!maps.causal || key <= query) && (window == 0 || key + window > query) ? 1.0F : 0.0F;
  }
  return mask;
}

// Which heads of a list of names are meant; by number within the layer where names tell the layer.
std::vector<std::size_t> choose_heads(const MapSourceArgs& args, const std::vector<std::string>& names) {
  std::vector<std::size_t> chosen;
  std::vector<Range> layers;
  for (const std::string& word : args.layers) layers.push_back(checked_range(word, "--layers"));
  const auto within = [](const std::vector<Range>& ranges, std::size_t number) {
    return std::ranges::any_of(ranges, [&](const Range& r) { return number >= r.first && number < r.second; });
  };
  std::vector<Range> numbers;
  std::vector<HeadId> ids;
  for (const std::string& word : args.heads) {
    if (const auto id = parse_head(word)) {
      ids.push_back(*id);
    } else {
      numbers.push_back(checked_range(word, "--heads"));
    }
  }
  for (std::size_t h = 0; h < names.size(); ++h) {
    const auto id = parse_head(names[h]);
    if (!id && (!layers.empty() || !ids.empty())) {
      throw Error(ErrorKind::kInvalidArgument,
                  "--layers, --heads: the source does not say which heads are which layer's; use --axes lhqk, or "
                  "numbers of heads");
    }
    const bool of_layer = layers.empty() || within(layers, id->layer);
    const bool of_heads =
        args.heads.empty() || within(numbers, id ? id->head : h) || (id && std::ranges::find(ids, *id) != ids.end());
    if (of_layer && of_heads) chosen.push_back(h);
  }
  if (chosen.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--layers, --heads: none of the {} heads is left", names.size()));
  }
  return chosen;
}

// Names of all heads of an array.
std::vector<std::string> head_names(const std::string& axes, const Shape& shape, const RunMaps& maps) {
  if (!maps.heads.empty()) return maps.heads;
  std::vector<std::string> names;
  const bool layered = axes == "lhqk" && shape.size() == 4;
  const std::size_t heads = layered                              ? shape[0] * shape[1]
                            : axes == "hqk" && shape.size() == 3 ? shape[0]
                            : axes == "qkh" && shape.size() == 3 ? shape[2]
                                                                 : 1;
  for (std::size_t h = 0; h < heads; ++h) {
    names.push_back(layered ? fmt::format("L{}H{}", h / shape[1], h % shape[1]) : fmt::format("H{}", h));
  }
  return names;
}

// 64-bit FNV-1a of shape and values; of large arrays, of pages spread over them.
std::string fingerprint_of(const LoadedArray& array) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  const auto add = [&](std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3U;
  };
  add(std::as_bytes(std::span(array.shape)));
  const auto bytes = std::as_bytes(array.values());
  constexpr std::size_t kPage = 4096;
  const std::size_t pages = bytes.size() / kPage;
  const std::size_t stride = std::max<std::size_t>(1, pages / 4096);
  for (std::size_t page = 0; page < pages; page += stride) add(bytes.subspan(page * kPage, kPage));
  add(bytes.subspan(pages * kPage));
  return fmt::format("{:016x}", hash);
}

std::vector<std::string> position_names(const std::vector<std::size_t>& positions, std::size_t offset,
                                        const std::vector<std::string>& tokens) {
  std::vector<std::string> names;
  for (const std::size_t position : positions) {
    const std::size_t at = position + offset;
    names.push_back(at < tokens.size() ? tokens[at] : std::to_string(at));
  }
  return names;
}

}  // namespace

void add_map_source_options(Command& command, MapSourceArgs& args) {
  command.add_option("source", args.source, "Folder with maps that 'capture' wrote, or .npy, .npz, .safetensors file")
      .required();
  command.add_option("--axes", args.axes, "Axes of an array: hqk, lhqk, qkh, or qk for one map").with_default();
  command.add_option("--array", args.array, "Which array of an .npz or .safetensors file");
  command.add_option("--mask", args.mask,
                     "none, causal, zeros (exact zeros are absent) or FILE.npy (zeros in it are absent); default: what "
                     "the folder says, else none; softmax takes all keys");
  command.add_option("--skip-first", args.skip_first, "Leave out so many first tokens: attention sinks").with_default();
  command.add_option("--layers", args.layers, "Only these, e.g. 0,3-5").list();
  command.add_option("--heads", args.heads, "Only these of each layer, or by name, e.g. 0-3,L4H7").list();
  command.add_option("--queries", args.queries, "Only this range, e.g. 10-50");
  command.add_option("--keys", args.keys, "Only this range");
}

std::string describe(const MapSourceArgs& args) {
  return fmt::format("{} axes {} mask {} skip {} layers {} heads {} queries {} keys {}", args.what, args.axes,
                     args.mask.empty() ? "default" : args.mask, args.skip_first, fmt::join(args.layers, ","),
                     fmt::join(args.heads, ","), args.queries, args.keys);
}

namespace {

// Layers and heads as one axis: names tell them apart.
void flatten_layers(NetworkTensorOptions& options, LoadedArray& array, LoadedArray& mask) {
  if (options.axes != "lhqk" || array.shape.size() != 4) return;
  const Shape flat = {array.shape[0] * array.shape[1], array.shape[2], array.shape[3]};
  if (mask.shape == array.shape) mask.shape = flat;
  array.shape = flat;
  options.axes = "hqk";
}

// Sets the kind of mask and loads what it needs.
void choose_mask(const MapSourceArgs& args, const RunMaps& maps, const LoadedArray& array, std::size_t memory,
                 const Session& session, MaskChoice& choice, LoadedArray& mask) {
  const std::string word = !args.mask.empty() ? args.mask : maps.causal ? "causal" : "none";
  if (args.mask.empty() && !maps.windows.empty() && array.shape.size() == 3) {
    mask = {window_mask(maps, array.shape), array.shape, ""};
    choice.kind = MaskChoice::Kind::kExplicit;
  } else if (word == "causal") {
    choice.kind = MaskChoice::Kind::kCausal;
    choice.first_query = maps.first_query;
  } else if (word == "zeros") {
    choice.kind = MaskChoice::Kind::kZeros;
  } else if (word != "none") {
    if (given_array(session, word) == nullptr && fs::path(word).extension() != ".npy") {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--mask: '{}' is none of none, causal, zeros, nor an .npy file", printable(word)));
    }
    mask = load_file(word, "", memory, session);
    choice.kind = MaskChoice::Kind::kExplicit;
  }
}

// What a host says about its maps.
RunMaps given_tokens(const GivenArray& given) {
  if (given.tokens.empty()) return {};
  const JsonDocument document = JsonDocument::parse(given.tokens, "tokens.json");
  return parse_tokens(document.root(), "tokens.json");
}

}  // namespace

MapSource load_maps(const MapSourceArgs& args, bool keep_absent, std::size_t memory, const Session& session) {
  std::error_code ignored;
  const GivenArray* given = given_array(session, args.source);
  if (given == nullptr && !fs::exists(args.source, ignored)) {
    throw Error(ErrorKind::kIo, fmt::format("{}: no such file or folder", args.source.string()));
  }
  const bool is_run = given == nullptr && fs::is_directory(args.source, ignored);
  const fs::path file = is_run ? args.source / (args.what + ".npy") : args.source;
  if (is_run && !fs::exists(file, ignored)) {
    throw Error(ErrorKind::kIo,
                fmt::format("{}: has no {}.npy; 'headscope capture' writes maps, or name a file of them",
                            args.source.string(), args.what));
  }
  LoadedArray array = load_file(file, args.array, memory, session);
  const std::string fingerprint = fingerprint_of(array);
  const RunMaps maps = is_run             ? read_tokens(args.source / "tokens.json")
                       : given != nullptr ? given_tokens(*given)
                                          : RunMaps{};

  NetworkTensorOptions options;
  options.axes = is_run ? "hqk" : args.axes;
  options.kind = args.what == "scores" ? MapKind::kScores : MapKind::kPattern;
  options.keep_absent = keep_absent;
  options.skip_first = args.skip_first;
  options.head_names = head_names(options.axes, array.shape, maps);
  if (!args.heads.empty() || !args.layers.empty()) options.heads = choose_heads(args, options.head_names);
  if (!args.queries.empty()) options.queries = checked_range(args.queries, "--queries");
  if (!args.keys.empty()) options.keys = checked_range(args.keys, "--keys");
  LoadedArray mask;
  choose_mask(args, maps, array, memory, session, options.mask, mask);
  flatten_layers(options, array, mask);
  options.mask.values = mask.values();
  options.mask.shape = mask.shape;

  MapSource source{
      make_network_tensor(array.values(), array.shape, options, array.where), fingerprint, array.where, {}, {}};
  source.query_names = position_names(source.tensor.query_positions, maps.first_query.value_or(0), maps.tokens);
  source.key_names = position_names(source.tensor.key_positions, 0, maps.tokens);
  return source;
}

}  // namespace headscope::cli
