#include "headscope/app/request_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <system_error>

#include "headscope/base/error.h"
#include "headscope/model/family_table.h"

namespace headscope {
namespace {

// No model has as many layers or heads. A range must not fill the memory before the model is asked.
constexpr std::size_t kMaxIndex = 100000;

// "7" or "3-5", both ends included.
std::optional<IndexRange> parse_range(std::string_view text) {
  IndexRange range;
  const auto take = [&](std::size_t& number) {
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return true;
  };
  if (!take(range.begin)) return std::nullopt;
  range.end = range.begin;
  if (!text.empty()) {
    if (text.front() != '-') return std::nullopt;
    text.remove_prefix(1);
    if (!take(range.end) || !text.empty()) return std::nullopt;
  }
  if (range.end < range.begin || range.end == std::numeric_limits<std::size_t>::max()) return std::nullopt;
  ++range.end;
  return range;
}

// All indices of a range.
std::optional<std::vector<std::size_t>> parse_indices(const std::string& text) {
  const auto range = parse_range(text);
  if (!range || range->end > kMaxIndex) return std::nullopt;
  std::vector<std::size_t> indices;
  for (std::size_t index = range->begin; index < range->end; ++index) indices.push_back(index);
  return indices;
}

std::optional<std::vector<HeadPick>> parse_picks(const std::string& text) {
  if (const auto indices = parse_indices(text)) {
    std::vector<HeadPick> picks;
    for (const std::size_t index : *indices) picks.push_back({std::nullopt, index});
    return picks;
  }
  const auto id = parse_head(text);
  if (!id || id->key_value) return std::nullopt;
  return std::vector<HeadPick>{{id->layer, id->head, id->block}};
}

// "8G", "8g", "8GiB": 2^30 bytes each; "8GB": 10^9, as GNU's tools read it; "1.5G". Reading GB as the larger GiB would
// exceed what the user has.
std::optional<std::vector<std::size_t>> parse_size(const std::string& text) {
  constexpr std::string_view kUnits = "kmgt";
  constexpr double kMost = 0x1p62;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  std::string unit(rest, end);
  std::ranges::transform(unit, unit.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  double factor = 1;
  if (!unit.empty() && unit != "b") {
    const std::size_t power = kUnits.find(unit.front()) + 1;  // 0 for no unit
    const std::string_view suffix = std::string_view(unit).substr(1);
    if (power == 0 || (!suffix.empty() && suffix != "b" && suffix != "ib")) return std::nullopt;
    factor = std::pow(suffix == "b" ? 1000.0 : 1024.0, static_cast<double>(power));
  }
  const double bytes = std::floor(number * factor);
  if (!(bytes >= 1 && bytes <= kMost)) return std::nullopt;
  return std::vector<std::size_t>{static_cast<std::size_t>(bytes)};
}

// In the largest unit in which it is a whole number.
std::string format_size(std::size_t bytes) {
  constexpr std::string_view kUnits = "TGMK";
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    const std::size_t shift = 10 * (kUnits.size() - i);
    if (bytes != 0 && bytes % (std::size_t{1} << shift) == 0) return fmt::format("{}{}", bytes >> shift, kUnits[i]);
  }
  return std::to_string(bytes);
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family& family : known_families()) names.push_back(family.name);
  return names;
}

}  // namespace

std::shared_ptr<const Model> ModelSource::open() const {
  if (opened) return opened;
  return std::make_shared<const Model>(Model::open(path, {.revision = revision, .family = family, .tower = tower}));
}

void describe(ModelSource& model, OptionList& options) {
  options
      .add("model", model.path,
           "Folder with config.json and *.safetensors, a .gguf file, or the name of a model in the local Hugging Face "
           "cache, e.g. openai-community/gpt2")
      .positional()
      .required()
      .circumstantial();
  options.add("revision", model.revision, "Branch, tag or commit of a model in the Hugging Face cache (default: main)")
      .circumstantial();
  options
      .add("family", model.family,
           "Read the model as one of this family, whatever its configuration says; its tensors must fit")
      .examples(family_names())
      .circumstantial();
  options
      .add("tower", model.tower,
           "Which transformer of a model with several: text or vision; of a model like Swin: stage1, stage2, ... "
           "Results "
           "go to the folder of that name in RUN, so that it may hold all (default: the language model, the images' "
           "side "
           "of a model like CLIP, or the stage with the most layers)")
      .examples({"text", "vision"})
      .circumstantial();
}

void describe(OutputTarget& output, OptionList& options) {
  options.add("run", output.run, "Folder for the results")
      .spelled("-o,--output")
      .names_folder()
      .required_on_command_line()
      .circumstantial();
  options.add("force", output.force, "Replace the result of another run in the folder").circumstantial();
}

void describe(Resumption& resumption, OptionList& options) {
  options
      .add("resume", resumption.resume,
           "Start over instead of continuing from what an interrupted run of the same command has finished")
      .circumstantial();
  options.add("save-every", resumption.save_every, "Seconds between saves of what is finished")
      .at_least(0)
      .circumstantial();
}

void describe(Resources& resources, OptionList& options) {
  options.add("memory", resources.memory, size_form(), "Memory budget, e.g. 8G").circumstantial();
  describe_threads(resources, options);
}

void describe_threads(Resources& resources, OptionList& options) {
  constexpr double kMaxThreads = 1024;
  options.add("threads", resources.threads, "Number of threads (default: all processors)")
      .between(1, kMaxThreads)
      .circumstantial()
      .command_line_only();
}

void describe_device(Resources& resources, OptionList& options) {
  options.add("device", resources.device, "cpu, cuda, or cuda:N").circumstantial();
}

void describe_precision(Resources& resources, OptionList& options) {
  options
      .add("precision", resources.precision,
           "Precision of products on a device: tf32 (default), fp16, bf16 or float32; the CPU computes in float32")
      .one_of({"tf32", "fp16", "bf16", "float32"})
      .circumstantial();
}

void describe(HeadSelection& selection, OptionList& options) {
  const TextForm<std::size_t> layers{.parse = parse_indices,
                                     .format = [](const std::size_t& layer) { return std::to_string(layer); },
                                     .expected = "a layer, counted from 0, or a range such as 3-5"};
  const TextForm<HeadPick> heads{
      .parse = parse_picks,
      .format = [](const HeadPick& pick) { return pick.layer ? to_string(pick.head_id()) : std::to_string(pick.head); },
      .expected = "an index, counted from 0, a range such as 3-5, or a query head such as L4H7 or cross.L4H7"};
  options.add("layers", selection.layers, layers, "Only these layers: numbers from 0 and ranges, e.g. 0,3-5");
  options.add("heads", selection.heads, heads,
              "Only these heads: indices and ranges for every layer, e.g. 0-3,7, or single heads, e.g. L4H7,4.8");
}

std::vector<HeadId> selected_heads(const HeadSelection& selection, const HeadSizes& sizes) {
  if (selection.empty()) return {};
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{}; the model has {}", what, sizes.text()));
  };
  for (const std::size_t layer : selection.layers) {
    if (layer >= std::max({sizes.layers_of(Block::kOnly), sizes.encoder_layers, sizes.decoder_layers}))
      fail(fmt::format("--layers: there is no layer {}", layer));
  }
  const auto is_selected_layer = [&](std::size_t layer) {
    return selection.layers.empty() || std::ranges::find(selection.layers, layer) != selection.layers.end();
  };
  std::set<HeadId> chosen;
  for (const HeadPick& pick : selection.heads) {
    if (!pick.layer && pick.head >= sizes.heads) fail(fmt::format("--heads: there is no head {}", pick.head));
    if (!pick.layer) continue;
    const HeadId id = pick.head_id();
    if (!sizes.layer_of(id) || !is_selected_layer(id.layer)) {
      fail(fmt::format("--heads: there is no query head {} in the selected layers", to_string(id)));
    }
    chosen.insert(id);
  }
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    if (!is_selected_layer(sizes.place(layer).layer)) continue;
    for (std::size_t head = 0; head < sizes.heads; ++head) {
      if (selection.heads.empty() || std::ranges::find(selection.heads, HeadPick{{}, head}) != selection.heads.end()) {
        chosen.insert(sizes.head_of(layer, head));
      }
    }
  }
  return {chosen.begin(), chosen.end()};
}

const TextForm<HeadId>& head_form() {
  static const TextForm<HeadId> kForm{.parse = [](const std::string& text) -> std::optional<std::vector<HeadId>> {
                                        const auto id = parse_head(text);
                                        if (!id) return std::nullopt;
                                        return std::vector{*id};
                                      },
                                      .format = [](const HeadId& id) { return to_string(id); },
                                      .expected = "a head such as L4H7"};
  return kForm;
}

const TextForm<IndexRange>& range_form() {
  static const TextForm<IndexRange> kForm{
      .parse = [](const std::string& text) -> std::optional<std::vector<IndexRange>> {
        const auto range = parse_range(text);
        if (!range) return std::nullopt;
        return std::vector{*range};
      },
      .format = [](const IndexRange& range) { return fmt::format("{}-{}", range.begin, range.end - 1); },
      .expected = "an index or a range such as 3-5"};
  return kForm;
}

const TextForm<std::size_t>& size_form() {
  static const TextForm<std::size_t> kForm{
      .parse = parse_size, .format = format_size, .expected = "a size such as 8G, 512M, 8GB or a number of bytes"};
  return kForm;
}

const TextForm<WeightProcessing>& weights_form() {
  static const TextForm<WeightProcessing> kForm =
      named_values<WeightProcessing>({{WeightProcessing::kFolded, "folded"}, {WeightProcessing::kRaw, "raw"}});
  return kForm;
}

}  // namespace headscope
