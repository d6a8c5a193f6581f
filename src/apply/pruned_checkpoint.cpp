#include "headscope/apply/pruned_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "apply/bias_edits.h"
#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/decode.h"
#include "headscope/io/mapped_file.h"
#include "headscope/io/model_file.h"
#include "headscope/io/zeroed_copy.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexSuffix = ".index.json";
constexpr std::string_view kWithZeros =
    "Weights of the pruned model: the original's but for zeros in the slices of the removed heads.";
constexpr std::string_view kWithBiases =
    "Weights of the pruned model: the original's but for zeros in the slices of the removed heads, and biases of the "
    "output projections that hold the means of these heads.";

const HeadSlice& output_slice(const Model& model, std::size_t layer) {
  if (model.head_map().shared_layers) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: its layers share their weights, so a head cannot be removed "
                                                     "from one of them",
                                                     model.checkpoint().path().string()));
  }
  const LayerTensors& tensors = model.head_map().layers[layer];
  const HeadSlice& slice = tensors.slices[static_cast<std::size_t>(Role::kO)];
  if (slice.tensor == nullptr) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: layer {} has no output projection, tensor '{}' is missing",
                                                model.checkpoint().path().string(), layer,
                                                tensors.missing.empty() ? "?" : printable(tensors.missing.front())));
  }
  return slice;
}

// Whether zero bytes decode to zeros.
bool has_zero(DType dtype) {
  std::vector<std::byte> block(info(dtype).block_bytes);
  std::vector<float> values(info(dtype).block_elements);
  decode(dtype, block, values);
  return std::ranges::all_of(values, [](float value) { return value == 0; });
}

void check_slice(const Model& model, const HeadSlice& slice) {
  const StoredTensor& tensor = *slice.tensor;
  const DTypeInfo& type = info(tensor.dtype);
  const std::string where = fmt::format("{}: tensor '{}' is stored as {}", model.checkpoint().file_of(tensor).string(),
                                        printable(tensor.name), type.name);
  if (tensor.packed != nullptr) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}, whose codes and scales cannot be edited in place; prune the "
                                                     "weights from before quantization",
                                                     where));
  }
  if (!has_zero(tensor.dtype)) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}, a type in which zero bytes do not decode to zero, so no head "
                                                     "can be removed; convert the file to F16 first",
                                                     where));
  }
  const bool across = slice.head_axis == 1;  // a head is a range of columns
  const std::size_t width = model.info().sizes.d_head;
  const auto whole = [&](std::size_t number) { return number % type.block_elements == 0; };
  if (across && !(whole(slice.first) && whole(slice.stride) && whole(width))) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{} in blocks of {}, but a head has {} columns: zeroing it would also zero its neighbors; "
                            "convert the file to F16 first",
                            where, type.block_elements, width));
  }
}

// Byte ranges of the heads' slices within their tensor.
std::vector<ByteRange> slice_bytes(const HeadSlice& slice, std::span<const std::size_t> heads, std::size_t width) {
  const StoredTensor& tensor = *slice.tensor;
  const DTypeInfo& type = info(tensor.dtype);
  const auto bytes = [&](std::size_t elements) { return elements / type.block_elements * type.block_bytes; };
  const std::size_t row = bytes(tensor.shape[1]);
  std::vector<ByteRange> ranges;
  const auto add = [&](std::size_t begin, std::size_t end) {
    if (!ranges.empty() && ranges.back().end == begin) {
      ranges.back().end = end;
    } else {
      ranges.push_back({begin, end});
    }
  };
  if (slice.head_axis == 0) {
    for (const std::size_t head : heads) {
      const std::size_t first = slice.first_of(head);
      add(first * row, (first + width) * row);
    }
    return ranges;
  }
  for (std::size_t i = 0; i < tensor.shape[0]; ++i) {
    for (const std::size_t head : heads) {
      const std::size_t first = slice.first_of(head);
      add(i * row + bytes(first), i * row + bytes(first + width));
    }
  }
  return ranges;
}

void check_heads(const HeadSizes& sizes, std::span<const HeadReplacement> heads) {
  for (const HeadReplacement& one : heads) {
    const bool exists = one.layer < sizes.layers && one.head < sizes.heads;
    if (exists && one.value.size() == sizes.width(one.layer, Role::kO)) continue;
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{} of width {} is not a query head of the model, which has {} layers of {}, {} wide",
                    to_string(HeadId{one.layer, one.head}), one.value.size(), sizes.layers, sizes.heads, sizes.d_head));
  }
}

// Files that a loader needs besides the weights.
bool belongs_to_model(const std::string& name, bool indexed) {
  if (name.ends_with(kIndexSuffix)) return indexed;
  constexpr std::array<std::string_view, 6> kBegins = {"tokenizer",      "vocab",        "merges",
                                                       "special_tokens", "added_tokens", "chat_template"};
  constexpr std::array<std::string_view, 4> kEnds = {"config.json", ".model", ".tiktoken", ".jinja"};
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return name.starts_with(begin); }) ||
         std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
}

std::vector<fs::path> companions(const Checkpoint& checkpoint) {
  std::vector<fs::path> found;
  if (checkpoint.is_gguf()) return found;  // everything is in one file
  // model.safetensors takes precedence over an index, which may then be stale.
  const auto is_whole = [](const auto& file) { return file.path.filename() == "model.safetensors"; };
  const bool indexed = std::ranges::none_of(checkpoint.weight_files(), is_whole);
  std::error_code error;
  for (fs::directory_iterator it(checkpoint.path(), error), end; !error && it != end; it.increment(error)) {
    std::error_code of_one;  // a dangling link is not an error
    if (it->is_regular_file(of_one) && belongs_to_model(it->path().filename().string(), indexed)) {
      found.push_back(it->path());
    }
  }
  if (error) {
    throw Error(ErrorKind::kIo, fmt::format("{}: cannot list: {}", checkpoint.path().string(), error.message()));
  }
  std::ranges::sort(found);
  return found;
}

void check_room(const fs::path& folder, std::size_t bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= bytes) return;
  throw Error(ErrorKind::kResource,
              fmt::format("{}: the pruned checkpoint needs {} MB, but the disk has only {} MB left", folder.string(),
                          bytes >> 20, space.available >> 20));
}

}  // namespace

std::vector<HeadId> zero_heads(const Model& model) {
  const HeadSizes& sizes = model.info().sizes;
  std::vector<HeadId> found;
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    const HeadWeights weights = model.load_heads(layer, Role::kO, WeightProcessing::kRaw);
    for (std::size_t head = 0; head < sizes.heads; ++head) {
      const bool zero = std::ranges::all_of(weights.columns(head), [](float value) { return value == 0; });
      if (zero) found.push_back({layer, head});
    }
    model.release_layer(layer);
  }
  return found;
}

void check_prunable(const Model& model) {
  if (model.checkpoint().in_memory()) {
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("{}: the model is in memory, but pruning needs its files; save it to a folder and pass that folder",
                    model.checkpoint().path().string()));
  }
  for (std::size_t layer = 0; layer < model.info().sizes.layers; ++layer) {
    check_slice(model, output_slice(model, layer));
  }
}

void add_pruned_checkpoint(RunFolder& run, const Model& model, std::span<const HeadReplacement> heads,
                           const std::string& folder, const Context& context) {
  const HeadSizes& sizes = model.info().sizes;
  check_heads(sizes, heads);
  check_prunable(model);
  std::vector<std::vector<std::size_t>> by_layer(sizes.layers);
  for (const HeadReplacement& one : heads) {
    std::vector<std::size_t>& layer = by_layer[one.layer];
    if (std::ranges::find(layer, one.head) == layer.end()) layer.push_back(one.head);
  }
  const auto files = model.checkpoint().weight_files();
  const BiasEdits edits(model, heads);
  std::size_t total = 0;
  for (const auto& file : files) total += file.bytes.size();
  check_room(run.path(), total + edits.added_bytes());

  std::vector<std::vector<ByteRange>> zeros(files.size());
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    std::ranges::sort(by_layer[layer]);
    const HeadSlice& slice = output_slice(model, layer);
    const FilePlace place = locate(files, *slice.tensor);
    for (const ByteRange& range : slice_bytes(slice, by_layer[layer], sizes.width(layer, Role::kO))) {
      zeros[place.file].push_back({place.offset + range.begin, place.offset + range.end});
    }
  }
  const auto share = [&](std::size_t done) {
    return static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(total, 1));
  };
  std::size_t written = 0;
  for (std::size_t f = 0; f < files.size(); ++f) {
    std::ranges::sort(zeros[f], {}, &ByteRange::begin);  // tensors may be in any order
    AtomicFile& out = run.add_file({.name = folder + "/" + files[f].path.filename().string(),
                                    .kind = "checkpoint",
                                    .about = std::string(edits.empty() ? kWithZeros : kWithBiases)});
    const std::size_t end = written + files[f].bytes.size();
    edits.write(f, zeros[f], out, context.part(share(written), share(end)));
    written = end;
  }
  for (const fs::path& path : companions(model.checkpoint())) {
    check_model_file(path);
    const MappedFile file = MappedFile::open(path);
    const std::string name = path.filename().string();
    const std::string edited = edits.edited_text(name, as_text(file.bytes()));
    AtomicFile& out = run.add_file({.name = fmt::format("{}/{}", folder, name),
                                    .kind = "checkpoint",
                                    .about = edited.empty() ? "Copied from the original model."
                                                            : "From the original model, with the added biases."});
    if (edited.empty()) {
      out.write(file.bytes());
    } else {
      out.write(edited);
    }
  }
}

}  // namespace headscope
