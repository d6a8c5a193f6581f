#include "model/deduce_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "headscope/base/error.h"
#include "model/config_reader.h"
#include "model/layer_names.h"

namespace headscope {
namespace {

using MaybeSize = std::optional<std::size_t>;

// Larger sizes are nonsense, and products of two sizes still fit into 64 bits.
constexpr std::uint64_t kMaxSize = 1'000'000'000;

class Deduction {
 public:
  Deduction(const Checkpoint& checkpoint, const FamilyMatch& match, std::vector<std::string>& notes)
      : checkpoint_(checkpoint), match_(match), notes_(notes) {}

  HeadSizes run() {
    HeadSizes sizes;
    sizes.layers = layers();
    const auto [residual, width] = extents_of_o(sizes.layers);
    sizes.d_model = stated(keys().d_model, "embedding_length").value_or(residual);
    if (!match_.layout->latent.empty()) {
      latent(width, sizes);
      return sizes;
    }
    if (match_.layout->own_sizes) {
      sizes.by_layer = own_sizes(sizes);
    } else {
      heads_and_width(width, sizes);
      sizes.kv_heads = kv_heads(sizes);
    }
    share_keys(sizes);
    if (!match_.layout->decoder.empty()) decoder(sizes);
    if (sizes.kv_heads == 0 || sizes.heads % sizes.kv_heads != 0) {
      fail(fmt::format("has {} heads and {} key/value heads, expected a divisor of the number of heads", sizes.heads,
                       sizes.kv_heads));
    }
    return sizes;
  }

 private:
  // Counts the layers of both stacks. `sizes.layers` are those of the encoder.
  void decoder(HeadSizes& sizes) const {
    sizes.encoder_layers = sizes.layers;
    sizes.decoder_layers = stated(keys().decoder_layers, "decoder_block_count").value_or(sizes.layers);
    const std::size_t most = checkpoint_.tensors().size();
    if (sizes.decoder_layers > most) {
      fail(fmt::format("says {} decoder layers, but the checkpoint has only {} tensors", sizes.decoder_layers, most));
    }
    sizes.layers += 2 * sizes.decoder_layers;
    const std::size_t heads = stated(keys().decoder_heads, "decoder_head_count").value_or(sizes.heads);
    if (heads == sizes.heads) return;
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: {} heads in the encoder and {} in the decoder, which headscope does not support",
                            checkpoint_.config_path().string(), sizes.heads, heads));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::kFormat, fmt::format("{}: {}", checkpoint_.config_path().string(), what));
  }
  const ConfigKeys& keys() const { return match_.family->keys; }

  std::size_t positive(std::string_view key, std::optional<std::uint64_t> value) const {
    if (!value || *value == 0 || *value > kMaxSize) {
      fail(fmt::format("'{}' is {}, expected an integer from 1 to {}", printable(key),
                       value ? std::to_string(*value) : "not an integer", kMaxSize));
    }
    return static_cast<std::size_t>(*value);
  }

  // Returns what the configuration says, under one of config.json's keys or under GGUF's own.
  MaybeSize stated(const std::vector<std::string>& json_keys, std::string_view gguf_key) const {
    if (checkpoint_.is_gguf()) return stated_in_gguf(fmt::format("{}.{}", match_.gguf_keys, gguf_key));
    for (const std::string& key : json_keys) {
      // timm stores a model's constructor arguments one level down.
      for (const JsonValue scope : {match_.config, match_.config.find("model_args")}) {
        const JsonValue value = of_stage(scope.find(key));
        if (!value.is_null()) return positive(key, value.as_unsigned());
      }
    }
    return std::nullopt;
  }

  // In a family with stages, a list has one value per stage.
  JsonValue of_stage(JsonValue value) const {
    if (!match_.stage || !value.is_array()) return value;
    std::size_t index = 0;
    for (const JsonValue item : value.items()) {
      if (index++ == *match_.stage) return item;
    }
    return {};
  }

  MaybeSize stated_in_gguf(const std::string& key) const {
    const auto value = checkpoint_.metadata(key);
    if (!value) return std::nullopt;
    const auto count = value->array_size();
    if (!count) return positive(key, value->as_unsigned());
    // One number per layer; reading a longer list is not worth the memory.
    if (*count == 0 || *count > checkpoint_.tensors().size()) {
      fail(fmt::format("'{}' is a list of {}, expected one number per layer", key, *count));
    }
    std::vector<GgufValue> items = *value->as_array();
    if (match_.layout->hybrid) items = with_attention(key, items);
    const std::size_t first = positive(key, items.front().as_unsigned());
    for (const GgufValue& item : items) {
      if (item.as_unsigned() != first) {
        throw Error(ErrorKind::kUnsupported,
                    fmt::format("{}: '{}' differs between layers, which headscope does not support",
                                checkpoint_.path().string(), key));
      }
    }
    return first;
  }

  // Of one value per layer of the file, those of the layers with attention.
  std::vector<GgufValue> with_attention(const std::string& key, const std::vector<GgufValue>& items) const {
    std::vector<GgufValue> kept;
    for (const std::size_t stored : match_.stored_layers) {
      if (stored >= items.size()) fail(fmt::format("'{}' has no number for layer {}", key, stored));
      kept.push_back(items[stored]);
    }
    return kept;
  }

  std::size_t layers() const {
    if (match_.layout->hybrid) {
      notes_.push_back(fmt::format("only layers {} of the file have attention; here they are layers 0 to {}",
                                   fmt::join(match_.stored_layers, ", "), match_.stored_layers.size() - 1));
      return match_.stored_layers.size();
    }
    const std::size_t present = layers_present();
    MaybeSize stated_layers = stated(keys().layers, "block_count");
    if (stated_layers && checkpoint_.is_gguf()) stated_layers = *stated_layers - predicting_layers(*stated_layers);
    const std::size_t layers = stated_layers.value_or(present);
    if (layers > checkpoint_.tensors().size()) {
      fail(fmt::format("{} {} layers, but the checkpoint has only {} tensors",
                       stated_layers ? "says" : "the tensors' names count", layers, checkpoint_.tensors().size()));
    }
    if (!stated_layers) note("layers", layers, "the tensors' names");
    if (present > layers) {
      notes_.push_back(
          fmt::format("the file has {} layers, but the configuration {}: the others are ignored", present, layers));
    }
    return layers;
  }

  // GGUF counts the layers that predict further tokens, the last ones of the file, which are not part of the model.
  std::size_t predicting_layers(std::size_t layers) const {
    const std::string key = match_.gguf_keys + ".nextn_predict_layers";
    const auto value = checkpoint_.metadata(key);
    if (!value) return 0;
    const std::uint64_t count = value->as_unsigned().value_or(layers);
    if (count >= layers) fail(fmt::format("'{}' is not a number below that of all layers, {}", key, layers));
    return static_cast<std::size_t>(count);
  }

  std::size_t layers_present() const {
    std::size_t count = 0;
    for (const StoredTensor* tensor : checkpoint_.tensors()) {
      const auto found = match_layer(tensor->name, match_.layout->o + ".weight");
      if (found && found->prefix == match_.prefix) count = std::max(count, found->layer + 1);
    }
    return count;
  }

  const StoredTensor* tensor(const std::string& pattern, std::size_t layer) const {
    return checkpoint_.find(match_.prefix + layer_name(pattern, match_.stored(layer)) + ".weight");
  }

  // Returns the tensor of that name in the first layer that has it.
  const StoredTensor* first_tensor(const std::string& pattern, std::size_t layers) const {
    for (std::size_t layer = 0; layer < layers; ++layer) {
      if (const StoredTensor* found = tensor(pattern, layer)) return found;
    }
    return nullptr;
  }

  struct Extents {
    std::size_t residual;
    std::size_t heads;
  };
  Extents extents_of_o(std::size_t layers) const {
    const StoredTensor* o = first_tensor(match_.layout->o, layers);
    if (o == nullptr) {
      fail(fmt::format("says {} layers, but none of them has '{}{}.weight'", layers, printable(match_.prefix),
                       match_.layout->o));
    }
    if (o->shape.size() != 2 || o->shape[0] == 0 || o->shape[1] == 0) {
      throw Error(ErrorKind::kFormat,
                  fmt::format("{}: tensor '{}' is {}, expected a matrix", checkpoint_.file_of(*o).string(),
                              printable(o->name), to_string(o->shape)));
    }
    const bool out_in = match_.layout->storage == Storage::kOutIn;
    return out_in ? Extents{o->shape[0], o->shape[1]} : Extents{o->shape[1], o->shape[0]};
  }

  void heads_and_width(std::size_t width, HeadSizes& sizes) const {
    const MaybeSize heads = stated_heads();
    MaybeSize d_head = stated(keys().head_dim, "attention.key_length");
    if (!d_head && !match_.layout->q_norm.empty() && !match_.layout->joint_head_norms) {
      if (const StoredTensor* norm = first_tensor(match_.layout->q_norm, sizes.layers)) {
        if (norm->shape.size() == 1 && norm->shape[0] > 0) {
          d_head = norm->shape[0];
          note("head width", *d_head, norm->name);
        }
      }
    }
    if (heads) {
      sizes.heads = *heads;
      sizes.d_head = d_head ? *d_head : divide(width, *heads, "heads");
    } else if (d_head) {
      sizes.d_head = *d_head;
      sizes.heads = divide(width, *d_head, "components per head");
      note("heads", sizes.heads, "the width of O");
    } else if (match_.family->defaults.head_dim != 0) {
      sizes.d_head = match_.family->defaults.head_dim;
      sizes.heads = divide(width, sizes.d_head, "components per head");
      note("head width", sizes.d_head, "the family's default");
    } else if (match_.family->defaults.heads != 0) {
      sizes.heads = match_.family->defaults.heads;
      sizes.d_head = divide(width, sizes.heads, "heads");
      note("heads", sizes.heads, "the family's default");
    } else {
      fail(fmt::format("has neither the number of heads ('{}') nor their width ('{}')",
                       checkpoint_.is_gguf() ? match_.gguf_keys + ".attention.head_count" : keys().heads.front(),
                       checkpoint_.is_gguf() ? match_.gguf_keys + ".attention.key_length" : keys().head_dim.front()));
    }
  }

  // Width and KV heads of each layer, from its tensors. Sets the largest of all.
  std::vector<LayerSizes> own_sizes(HeadSizes& sizes) const {
    const MaybeSize heads = stated_heads();
    const MaybeSize width = stated(keys().head_dim, "attention.key_length");
    if (!heads) fail(fmt::format("does not have the number of heads ('{}')", keys().heads.front()));
    sizes.heads = *heads;
    std::vector<LayerSizes> layers;
    for (std::size_t i = 0; i < sizes.layers; ++i) {
      const auto extent = [&](const std::string& module) -> MaybeSize {
        const StoredTensor* found = tensor(module, i);
        if (found == nullptr || found->shape.empty() || found->shape[0] == 0) return std::nullopt;
        return found->shape[0];
      };
      const MaybeSize own = extent(match_.layout->q_norm);
      if (!own && !width) fail(fmt::format("does not have the width of layer {}'s heads", i));
      LayerSizes& layer = layers.emplace_back(LayerSizes{own ? *own : *width, *heads, i});
      if (const MaybeSize rows = extent(match_.layout->k); rows && *rows % layer.d_head == 0) {
        layer.kv_heads = *rows / layer.d_head;
      }
      if (*heads % layer.kv_heads != 0) {
        fail(fmt::format("has {} heads and layer {} {} key/value heads, expected a divisor of the number of heads",
                         *heads, i, layer.kv_heads));
      }
      sizes.d_head = std::max(sizes.d_head, layer.d_head);
    }
    return layers;
  }

  // The last layers may use the K and V of earlier ones.
  void share_keys(HeadSizes& sizes) const {
    std::vector<LayerSizes>& layers = sizes.by_layer;
    const std::size_t shared = shared_layers(sizes.layers);
    if (shared > 0 && layers.empty()) layers.assign(sizes.layers, {sizes.d_head, sizes.kv_heads, 0});
    const std::vector<std::string> types = shared > 0 ? layer_types(sizes.layers) : std::vector<std::string>();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      layers[i].kv_layer = i;
      if (i + shared < sizes.layers) continue;
      std::size_t from = sizes.layers - shared;
      while (from > 0 && types[from - 1] != types[i]) --from;
      if (from == 0) fail(fmt::format("layer {} uses the keys of an earlier layer like it, but there is none", i));
      if (layers[from - 1].d_head != layers[i].d_head) {
        fail(fmt::format("layer {} has heads of width {}, but uses the keys of layer {}, of width {}", i,
                         layers[i].d_head, from - 1, layers[from - 1].d_head));
      }
      layers[i].kv_layer = from - 1;
      layers[i].kv_heads = 0;
    }
    if (match_.layout->own_sizes) {
      for (const LayerSizes& layer : layers) sizes.kv_heads = std::max(sizes.kv_heads, layer.kv_heads);
    }
  }

  std::size_t shared_layers(std::size_t layers) const {
    if (match_.layout->shared_kv_key.empty()) return 0;
    const ConfigReader config(checkpoint_, match_.config);
    const std::size_t shared = config.size({match_.layout->shared_kv_key}).value_or(match_.layout->shared_kv_layers);
    if (shared >= layers) fail(fmt::format("{} of {} layers have no keys of their own", shared, layers));
    return shared;
  }

  std::vector<std::string> layer_types(std::size_t layers) const {
    std::vector<std::string> types;
    for (const JsonValue item : match_.config.find("layer_types").items()) {
      types.emplace_back(item.as_string().value_or(""));
    }
    if (types.size() != layers) fail(fmt::format("'layer_types' has {} entries for {} layers", types.size(), layers));
    return types;
  }

  // Latent attention: Q, K and V have widths of their own, and every head has its own K and V.
  void latent(std::size_t width, HeadSizes& sizes) const {
    const MaybeSize heads = stated(keys().heads, "attention.head_count");
    if (!heads) {
      fail(fmt::format("does not have the number of heads ('{}')",
                       checkpoint_.is_gguf() ? match_.gguf_keys + ".attention.head_count" : keys().heads.front()));
    }
    sizes.heads = sizes.kv_heads = *heads;
    sizes.d_head = stated({"v_head_dim"}, "attention.value_length_mla").value_or(divide(width, *heads, "heads"));
    const std::size_t down = outputs(match_.layout->latent.kv_down, sizes.layers);
    const std::size_t rank = outputs(match_.layout->latent.kv_norm, sizes.layers);
    sizes.d_rotary = stated({"qk_rope_head_dim"}, "rope.dimension_count").value_or(down > rank ? down - rank : 0);
    const std::size_t both = outputs(match_.layout->k, sizes.layers) / *heads;
    const std::size_t key = both > sizes.d_head ? both - sizes.d_head : 0;
    if (checkpoint_.is_gguf()) {
      const std::size_t query = stated({}, "attention.key_length_mla").value_or(key + sizes.d_rotary);
      sizes.d_key = query > sizes.d_rotary ? query - sizes.d_rotary : 0;
    } else {
      sizes.d_key = stated({"qk_nope_head_dim"}, "").value_or(key);
    }
    if (sizes.d_rotary == 0 || sizes.d_key == 0) {
      fail("does not say how wide the keys are ('qk_nope_head_dim', 'qk_rope_head_dim'), and neither do the tensors");
    }
  }

  // Number of outputs of a module, or of numbers of a norm; 0 if no layer has it.
  std::size_t outputs(const std::string& module, std::size_t layers) const {
    const StoredTensor* found = first_tensor(module, layers);
    return found == nullptr || found->shape.empty() ? 0 : found->shape.front();
  }

  MaybeSize stated_heads() const {
    if (const MaybeSize heads = stated(keys().heads, "attention.head_count")) return heads;
    const auto architecture = match_.config.find("architecture").as_string();
    for (const auto& [beginning, heads] : match_.family->heads_by_architecture) {
      if (architecture && architecture->starts_with(beginning)) {
        note("heads", heads, printable(*architecture));
        return heads;
      }
    }
    return std::nullopt;
  }

  std::size_t kv_heads(const HeadSizes& sizes) const {
    if (match_.layout->fusion == Fusion::kPerHead) return sizes.heads;
    if (match_.layout->kv_heads > 0) return match_.layout->kv_heads;
    if (const MaybeSize kv_heads = stated(keys().kv_heads, "attention.head_count_kv")) return *kv_heads;
    const bool fused = match_.layout->fusion != Fusion::kNone;
    const StoredTensor* source = first_tensor(fused ? match_.layout->q : match_.layout->k, sizes.layers);
    if (source == nullptr || source->shape.size() != 2) return sizes.heads;  // will be reported as missing or misshapen
    const std::size_t outputs = source->shape[match_.layout->storage == Storage::kOutIn ? 0 : 1];
    const std::size_t query = fused ? sizes.heads * sizes.d_head : 0;
    const std::size_t one = (fused ? 2 : 1) * sizes.d_head;
    if (outputs < query + one || (outputs - query) % one != 0) return sizes.heads;  // will be reported as misshapen
    const std::size_t kv_heads = (outputs - query) / one;
    if (kv_heads != sizes.heads) note("key/value heads", kv_heads, source->name);
    return kv_heads;
  }

  std::size_t divide(std::size_t width, std::size_t parts, std::string_view what) const {
    if (width % parts != 0) {
      fail(fmt::format("says {} {}, but O reads {} components, which is not a multiple", parts, what, width));
    }
    return width / parts;
  }

  void note(std::string_view what, std::size_t value, std::string_view source) const {
    notes_.push_back(fmt::format("{} {} taken from {}", value, what, printable(source)));
  }

  const Checkpoint& checkpoint_;
  const FamilyMatch& match_;
  std::vector<std::string>& notes_;
};

}  // namespace

HeadSizes deduce_sizes(const Checkpoint& checkpoint, const FamilyMatch& match, std::vector<std::string>& notes) {
  return Deduction(checkpoint, match, notes).run();
}

}  // namespace headscope
