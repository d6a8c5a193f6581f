#include "cli/map_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "cli/host.h"
#include "cli/map_array.h"
#include "cli/shared_work.h"
#include "headscope/base/error.h"
#include "headscope/io/json.h"
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

// Causal within the window of each head's layer, [head, query, key]: made as it is read.
ArraySource window_mask(const RunMaps& maps, const Shape& shape) {
  std::vector<std::size_t> windows;  // by head
  for (const std::string& head : maps.heads) {
    const auto id = parse_head(head);
    windows.push_back(id && id->layer < maps.windows.size() ? maps.windows[id->layer] : 0);
  }
  const auto read = [windows, shape, causal = maps.causal, offset = maps.first_query.value_or(0)](
                        std::size_t first, std::span<float> out) {
    for (std::size_t i = 0; i < out.size();) {  // row by row
      const std::size_t row = (first + i) / shape[2];
      const std::size_t head = row / shape[1];
      const std::size_t query = row % shape[1] + offset;
      const std::size_t window = head < windows.size() ? windows[head] : 0;
      for (std::size_t key = (first + i) % shape[2]; key < shape[2] && i < out.size(); ++key) {
        out[i++] = (!causal || key <= query) && (window == 0 || key + window > query) ? 1.0F : 0.0F;
      }
    }
  };
  return {shape, read};
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
  if (element_count(shape) == 0) return names;  // its other extents may be anything
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
void flatten_layers(NetworkTensorOptions& options, ArraySource& array) {
  if (options.axes != "lhqk" || array.shape().size() != 4) return;
  const Shape shape = array.shape();
  const Shape flat = {shape[0] * shape[1], shape[2], shape[3]};
  if (options.mask.array && options.mask.array->shape() == shape) {
    options.mask.array = options.mask.array->reshaped(flat);
  }
  array = array.reshaped(flat);
  options.axes = "hqk";
}

// The kind of mask and, if it is explicit, its array.
MaskChoice choose_mask(const MapSourceArgs& args, const RunMaps& maps, const ArraySource& array, std::size_t memory,
                       const Session& session) {
  MaskChoice choice;
  const std::string word = !args.mask.empty() ? args.mask : maps.causal ? "causal" : "none";
  if (args.mask.empty() && !maps.windows.empty() && array.shape().size() == 3) {
    choice.array = window_mask(maps, array.shape());
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
    choice.array = open_map_array(word, "", memory, session).values;
    choice.kind = MaskChoice::Kind::kExplicit;
  }
  return choice;
}

// What a host says about its maps.
RunMaps given_tokens(const GivenArray& given) {
  if (given.tokens.empty()) return {};
  const JsonDocument document = JsonDocument::parse(given.tokens, "tokens.json");
  return parse_tokens(document.root(), "tokens.json");
}

// Maps with all that is known before their values are read.
struct OpenedMaps {
  MapArray array;
  RunMaps about;
  NetworkTensorOptions options;
  std::vector<std::string> head_names;  // of the chosen ones
  ArraySource whole;                    // the array as it came
  std::string fingerprint = {};         // of that
};

// As many heads as the rank with most of them has must fit the budget.
void check_size(const OpenedMaps& maps, std::size_t ranks, std::size_t memory) {
  const std::size_t all = std::max<std::size_t>(1, maps.options.head_names.size());
  const std::size_t held = std::max<std::size_t>(1, (maps.head_names.size() + ranks - 1) / ranks);
  if (maps.whole.size() / all <= floats_within(memory) / held) return;
  const std::string shape = to_string(maps.whole.shape());
  const std::string what =
      held == all ? fmt::format("an array of {} takes three times its size", shape)
                  : fmt::format("{} of the {} heads of an array of {} take three times their size", held, all, shape);
  throw Error(ErrorKind::kResource,
              fmt::format("{}: {} here, more than the budget of {} MB; raise --memory{}", maps.array.where, what,
                          memory >> 20, ranks > 1 ? " or start more ranks" : ""));
}

OpenedMaps open_maps(const MapSourceArgs& args, std::size_t memory, const Session& session) {
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
  const MapArray array = open_map_array(file, args.array, memory, session);
  OpenedMaps maps{array, {}, {}, {}, array.values, {}};
  if (is_run) maps.about = read_tokens(args.source / "tokens.json");
  if (given != nullptr) maps.about = given_tokens(*given);

  NetworkTensorOptions& options = maps.options;
  options.axes = is_run ? "hqk" : args.axes;
  options.kind = args.what == "scores" ? MapKind::kScores : MapKind::kPattern;
  options.skip_first = args.skip_first;
  options.head_names = head_names(options.axes, maps.array.values.shape(), maps.about);
  maps.head_names = options.head_names;
  if (!args.heads.empty() || !args.layers.empty()) {
    options.heads = choose_heads(args, options.head_names);
    maps.head_names.clear();
    for (const std::size_t h : options.heads) maps.head_names.push_back(options.head_names[h]);
  }
  if (!args.queries.empty()) options.queries = checked_range(args.queries, "--queries");
  if (!args.keys.empty()) options.keys = checked_range(args.keys, "--keys");
  options.mask = choose_mask(args, maps.about, maps.array.values, memory, session);
  flatten_layers(options, maps.array.values);
  return maps;
}

// Over all heads.
double share_of_absent(const NetworkTensor& tensor, std::size_t heads, Ranks& ranks) {
  if (!tensor.masked()) return 0;
  std::int64_t absent = std::ranges::count(tensor.present, 0);
  if (!tensor.mask_per_head) return static_cast<double>(absent) / static_cast<double>(tensor.map_size());
  ranks.all_reduce_sum(std::span(&absent, 1));
  return static_cast<double>(absent) / static_cast<double>(heads * tensor.map_size());
}

}  // namespace

MapSource load_maps(const MapSourceArgs& args, bool keep_absent, std::size_t memory, const Session& session,
                    Ranks& ranks) {
  OpenedMaps maps = ranks.run_and_agree([&] {
    OpenedMaps opened = open_maps(args, memory, session);
    check_size(opened, ranks.size(), memory);
    opened.fingerprint = fingerprint_of(opened.whole);
    return opened;
  });
  check_same_everywhere(ranks, "array", maps.fingerprint);
  maps.options.keep_absent = keep_absent;
  MapSource source;
  source.tensor = make_network_tensor(maps.array.values, maps.options, maps.array.where, ranks);
  source.head_names = std::move(maps.head_names);
  source.absent = share_of_absent(source.tensor, source.head_names.size(), ranks);
  source.fingerprint = std::move(maps.fingerprint);
  source.file = std::move(maps.array.where);
  source.query_names =
      position_names(source.tensor.query_positions, maps.about.first_query.value_or(0), maps.about.tokens);
  source.key_names = position_names(source.tensor.key_positions, 0, maps.about.tokens);
  return source;
}

}  // namespace headscope::cli
