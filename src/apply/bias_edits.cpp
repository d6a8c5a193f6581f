#include "apply/bias_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "headscope/apply/output_bias.h"
#include "headscope/base/error.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/model/family.h"
#include "headscope/model/network.h"

namespace headscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kIndexSuffix = ".index.json";

// Rounds to nearest, ties to even. The values are finite.
std::uint16_t to_bfloat16(float value) {
  constexpr std::uint32_t kHalf = 0x7FFF;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + kHalf + ((bits >> 16U) & 1U)) >> 16U);
}

// `dtype` is one of the types that `find_output_bias` accepts.
std::vector<std::byte> encode(DType dtype, std::span<const float> values) {
  std::vector<std::byte> bytes;
  const auto copy = [&](const auto& list) {
    const auto raw = std::as_bytes(std::span(list));
    bytes.assign(raw.begin(), raw.end());
  };
  if (dtype == DType::kF32) {
    copy(values);
    return bytes;
  }
  std::vector<unsigned short> halves(values.size());
  if (dtype == DType::kF16) {
    to_half(values, halves);
  } else {
    std::ranges::transform(values, halves.begin(), to_bfloat16);
  }
  copy(halves);
  return bytes;
}

Json parse(const std::string& name, std::string_view text) {
  Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) throw Error(ErrorKind::kFormat, fmt::format("{}: is not a JSON object", printable(name)));
  return root;
}

}  // namespace

FilePlace locate(std::span<const Checkpoint::WeightFile> files, const StoredTensor& tensor) {
  const std::byte* begin = tensor.bytes.data();
  for (std::size_t f = 0; f < files.size(); ++f) {
    const std::span<const std::byte> bytes = files[f].bytes;
    if (begin < bytes.data() || begin >= bytes.data() + bytes.size()) continue;
    return {f, static_cast<std::size_t>(begin - bytes.data())};
  }
  throw Error(ErrorKind::kFormat, fmt::format("tensor '{}' is in none of the files", printable(tensor.name)));
}

BiasEdits::BiasEdits(const Model& model, std::span<const HeadReplacement> heads)
    : model_(model), files_(model.checkpoint().weight_files()) {
  const auto is_zero = [](const HeadReplacement& one) {
    return std::ranges::all_of(one.value, [](float value) { return value == 0; });
  };
  if (std::ranges::all_of(heads, is_zero)) return;
  const OutputBias bias = find_output_bias(model);
  if (bias.kind == BiasKind::kNone) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: the means of removed heads cannot be stored: {}; replace heads by zeros",
                            model.checkpoint().path().string(), bias.why_not));
  }
  const std::vector<std::vector<float>> biases = biases_with(model, heads);
  if (bias.kind == BiasKind::kStored) {
    change_stored(biases);
  } else {
    add_missing(biases);
  }
}

void BiasEdits::change_stored(const std::vector<std::vector<float>>& biases) {
  const Network network = resolve_network(model_);
  for (std::size_t layer = 0; layer < biases.size(); ++layer) {
    const StoredTensor& tensor = *network.layers[layer].linear[3].bias;
    changed_.emplace_back(locate(files_, tensor), encode(tensor.dtype, biases[layer]));
  }
}

// Adds a bias for every distinct projection: O's to the file that holds O, zeros for the others beside their weights.
void BiasEdits::add_missing(const std::vector<std::vector<float>>& biases) {
  const Network network = resolve_network(model_);
  for (std::size_t layer = 0; layer < biases.size(); ++layer) {
    std::vector<const StoredTensor*> seen;
    for (std::size_t r = 0; r < network.layers[layer].linear.size(); ++r) {
      const StoredLinear& linear = network.layers[layer].linear[r];
      if (std::ranges::find(seen, linear.weight) != seen.end()) continue;  // fused
      seen.push_back(linear.weight);
      std::string name = linear.weight->name;
      name.replace(name.size() - kWeight.size(), kWeight.size(), ".bias");
      added_[locate(files_, *linear.weight).file].push_back(
          {std::move(name), {linear.out()}, r == 3 ? biases[layer] : std::vector<float>(linear.out())});
    }
  }
  if (model_.checkpoint().is_gguf()) return;
  key_ = std::ranges::find(known_families(), model_.info().family, &Family::name)->bias_key;
}

std::size_t BiasEdits::added_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& [file, tensors] : added_) {
    for (const AppendedTensor& tensor : tensors) bytes += tensor.values.size() * sizeof(float);
  }
  return bytes;
}

void BiasEdits::write(std::size_t file, std::span<const ByteRange> zeros, AtomicFile& out,
                      const Context& context) const {
  const std::span<const std::byte> bytes = files_[file].bytes;
  const auto added = added_.find(file);
  if (added == added_.end()) {
    write_zeroed_copy(bytes, zeros, out, context);
    for (const auto& [place, values] : changed_) {
      if (place.file == file) out.write_at(place.offset, values);
    }
    return;
  }
  const ExtendedFile extended = model_.checkpoint().is_gguf()
                                    ? extend_gguf(GgufFile::open(files_[file].path), added->second)
                                    : extend_safetensors(bytes, added->second);
  std::vector<ByteRange> shifted(zeros.begin(), zeros.end());
  for (ByteRange& range : shifted) {
    range.begin -= extended.data;
    range.end -= extended.data;
  }
  out.write(extended.header);
  write_zeroed_copy(bytes.subspan(extended.data), shifted, out, context);
  out.write(extended.tail);
}

std::string BiasEdits::edited_text(const std::string& name, std::string_view text) const {
  constexpr int kIndent = 2;
  if (added_.empty()) return {};
  if (name == "config.json") {
    Json root = parse(name, text);
    root[key_] = true;
    return root.dump(kIndent) + "\n";
  }
  if (!name.ends_with(kIndexSuffix)) return {};
  Json root = parse(name, text);
  for (const auto& [file, tensors] : added_) {
    for (const AppendedTensor& tensor : tensors)
      root["weight_map"][tensor.name] = files_[file].path.filename().string();
  }
  if (root.contains("metadata") && root["metadata"].contains("total_size") &&
      root["metadata"]["total_size"].is_number_unsigned()) {
    root["metadata"]["total_size"] = root["metadata"]["total_size"].get<std::size_t>() + added_bytes();
  }
  return root.dump(kIndent) + "\n";
}

}  // namespace headscope
