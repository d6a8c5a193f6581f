#include "model/map_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "headscope/base/error.h"
#include "model/block_scale.h"
#include "model/layer_names.h"

namespace headscope {
namespace {

class Mapper {
 public:
  Mapper(const Checkpoint& checkpoint, const FamilyMatch& match, const HeadSizes& sizes)
      : checkpoint_(checkpoint),
        match_(match),
        layout_(*match.layout),
        prefix_(match.prefix),
        order_(match.order),
        sizes_(sizes) {}

  HeadMap run() {
    map_.norm_offset = layout_.norm_offset;
    map_.output_scale_offset = layout_.output_scale_offset;
    map_.output_scale_required = !layout_.output_scale.empty() && !layout_.output_scale_optional;
    map_.gain_required = !layout_.bare_norms;
    const std::set<std::size_t> distinct(match_.stored_layers.begin(), match_.stored_layers.end());
    map_.shared_layers = distinct.size() < match_.stored_layers.size();
    for (layer_ = 0; layer_ < sizes_.layers; ++layer_) {
      missing_.clear();
      LayerTensors layer;
      for (const Role role : kRoles) layer.slices[static_cast<std::size_t>(role)] = slice(role);
      if (!layout_.latent.empty()) latent(layer);
      const bool pre = order_ == NormOrder::kPre;
      layer.normed = !pre || (!layout_.norm.empty() && layer_ >= layout_.first_norm);
      if (pre && layer.normed && !layout_.bare_norms) layer.norm_gain = gain();
      if (!layout_.output_scale.empty()) {
        layer.output_scale = vector(layout_.output_scale, !layout_.output_scale_optional);
      }
      layer.missing = missing_;
      map_.layers.push_back(std::move(layer));
    }
    return std::move(map_);
  }

 private:
  HeadSlice slice(Role role) {
    if (sizes_.heads_of(layer_, role) == 0) return {};
    const bool latent = role == Role::kQ ? !layout_.latent.q_down.empty() : !layout_.latent.empty();
    if (latent && role != Role::kO) return {};  // see `latent`
    const std::size_t h = sizes_.width(layer_, role);
    const std::size_t query = sizes_.heads * h;
    const std::size_t key = sizes_.heads_of(layer_, Role::kK) * h;
    const bool out_in = layout_.storage == Storage::kOutIn;

    HeadSlice found;
    found.stride = h;
    found.head_axis = out_in == (role != Role::kO) ? 0 : 1;
    std::size_t extent = role == Role::kO ? query : sizes_.heads_of(layer_, role) * h;
    const std::string* name = &layout_.q;
    if (role == Role::kO) {
      name = &layout_.o;
    } else if (layout_.fusion == Fusion::kNone) {
      name = role == Role::kQ ? &layout_.q : role == Role::kK ? &layout_.k : &layout_.v;
      const bool has_value = layout_.v.empty() || find(layout_.v) != nullptr;
      if (role == Role::kV && layout_.value_is_key && !has_value) name = &layout_.k;
      if (role == Role::kQ && layout_.query_gates) {
        extent = 2 * query;
        found.stride = 2 * h;
      }
    } else {
      const auto part = static_cast<std::size_t>(role);
      extent = query + 2 * key;
      if (layout_.fusion == Fusion::kPerHead) {
        found.first = part * h;
        found.stride = 3 * h;
      } else if (layout_.fusion == Fusion::kGrouped) {
        group(part, found);
      } else {
        found.first = part == 0 ? 0 : query + (part - 1) * key;
      }
    }

    Shape expected = {sizes_.d_model, sizes_.d_model};
    expected[found.head_axis] = extent;
    locate(*name + ".weight", expected, found);
    return found;
  }

  // Finds the tensor of a slice, with the factors of its blocks.
  void locate(const std::string& name, const Shape& expected, HeadSlice& found) {
    found.tensor = checked(name, expected, /*required=*/true);
    if (found.tensor == nullptr) return;
    found.block_scale = find_block_scale(checkpoint_, *found.tensor);
    if (const std::string scale = missing_block_scale(checkpoint_, *found.tensor); !scale.empty()) {
      missing_.push_back(scale);
      found.tensor = nullptr;  // codes are not weights without their scale
    }
  }

  // Q, K and V read latents. K and V are in one tensor, head by head.
  void latent(LayerTensors& layer) {
    const LatentNames& names = layout_.latent;
    LatentTensors& latent = layer.latent.emplace();
    const std::size_t key = sizes_.width(Role::kK);
    const std::size_t both = key + sizes_.d_head;
    if (!names.q_down.empty()) {
      latent.query = factor(names.q_down, names.q_norm, 0, latent.query.down);
      layer.slices[0] = second(layout_.q, sizes_.width(Role::kQ), latent.query.rank);
    }
    latent.key_value = factor(names.kv_down, names.kv_norm, sizes_.d_rotary, latent.rotary_key);
    for (const Role role : {Role::kK, Role::kV}) {
      HeadSlice& slice = layer.slices[static_cast<std::size_t>(role)];
      slice = second(layout_.k, both, latent.key_value.rank);
      slice.first = role == Role::kK ? 0 : key;
    }
  }

  // The map to a latent and the gain of its norm. `rest` receives the `more` rows after those of the latent.
  LatentFactor factor(const std::string& down, const std::string& norm, std::size_t more, HeadSlice& rest) {
    LatentFactor found;
    const std::string name = prefix_ + layer_name(norm + ".weight", match_.stored(layer_));
    const StoredTensor* gain = checkpoint_.find(name);
    found.rank = gain != nullptr && gain->shape.size() == 1 ? gain->shape[0] : 0;
    const StoredTensor* tensor = checkpoint_.find(prefix_ + layer_name(down + ".weight", match_.stored(layer_)));
    // Without the gain, the tensor says it.
    if (gain == nullptr && tensor != nullptr && tensor->shape.size() == 2 && tensor->shape[0] > more) {
      found.rank = tensor->shape[0] - more;
    }
    if (found.rank == 0) found.rank = 1;  // reported as missing or misshapen
    found.gain = checked(norm + ".weight", {found.rank}, /*required=*/true);
    found.down.stride = found.rank;
    locate(down + ".weight", {found.rank + more, sizes_.d_model}, found.down);
    if (more > 0) {
      rest = found.down;
      rest.first = found.rank;
      rest.stride = more;
    }
    return found;
  }

  // A tensor from a latent to the heads.
  HeadSlice second(const std::string& module, std::size_t stride, std::size_t rank) {
    HeadSlice found;
    found.stride = stride;
    locate(module + ".weight", {sizes_.heads * stride, rank}, found);
    return found;
  }

  // Each group holds its query heads, then its KV heads.
  void group(std::size_t part, HeadSlice& found) const {
    const std::size_t h = sizes_.d_head;
    const std::size_t groups = layout_.groups == 0 ? sizes_.kv_heads : layout_.groups;
    if (sizes_.heads % groups != 0 || sizes_.kv_heads % groups != 0) {
      throw Error(ErrorKind::kFormat,
                  fmt::format("{}: has {} heads and {} key/value heads, expected multiples of {}",
                              checkpoint_.config_path().string(), sizes_.heads, sizes_.kv_heads, groups));
    }
    const std::size_t queries = sizes_.heads / groups;
    const std::size_t keys = sizes_.kv_heads / groups;
    const bool second = part == (layout_.value_before_key ? 2 : 1);
    found.first = part == 0 ? 0 : (second ? queries : queries + keys) * h;
    found.group = part == 0 ? queries : keys;
    found.group_stride = (queries + 2 * keys) * h;
  }

  // Some files have TensorFlow's name.
  const StoredTensor* gain() {
    const StoredTensor* old = vector(layout_.norm + ".gamma", /*required=*/false);
    return old != nullptr ? old : vector(layout_.norm + ".weight", /*required=*/true);
  }

  const StoredTensor* vector(const std::string& pattern, bool required) {
    return checked(pattern, {sizes_.d_model}, required);
  }

  const StoredTensor* find(const std::string& module) const {
    return checkpoint_.find(prefix_ + layer_name(module + ".weight", match_.stored(layer_)));
  }

  // Returns the layer's tensor of that name, after checking its shape and type.
  const StoredTensor* checked(const std::string& pattern, const Shape& expected, bool required) {
    const std::string name = prefix_ + layer_name(pattern, match_.stored(layer_));
    const StoredTensor* tensor = checkpoint_.find(name);
    if (tensor == nullptr) {
      // A fused tensor is looked up three times.
      if (required && (missing_.empty() || missing_.back() != name)) missing_.push_back(name);
      return nullptr;
    }
    if (tensor->shape != expected) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: tensor '{}' is {}, expected {}", file(*tensor), printable(name),
                                                  to_string(tensor->shape), to_string(expected)));
    }
    if (!is_decodable(*tensor)) {
      throw Error(ErrorKind::kUnsupported,
                  fmt::format("{}: tensor '{}' is stored as {}, which headscope does not decode", file(*tensor),
                              printable(name), info(tensor->dtype).name));
    }
    return tensor;
  }

  std::string file(const StoredTensor& tensor) const { return checkpoint_.file_of(tensor).string(); }

  const Checkpoint& checkpoint_;
  const FamilyMatch& match_;
  const Layout& layout_;
  const std::string& prefix_;
  NormOrder order_;
  const HeadSizes& sizes_;
  std::size_t layer_ = 0;
  std::vector<std::string> missing_;  // of this layer
  HeadMap map_;
};

// Adds the norm at the end of the encoder to the layers of cross-attention.
void add_memory(const Checkpoint& checkpoint, const FamilyMatch& match, const HeadSizes& sizes, HeadMap& map) {
  const StoredTensor* gain = nullptr;
  const std::string name = match.prefix + match.layout->forward.final_norm + ".weight";
  if (match.order == NormOrder::kPre) gain = checkpoint.find(name);
  if (gain != nullptr && (gain->shape != Shape{sizes.d_model} || !is_decodable(*gain))) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: tensor '{}' is {} {}, expected {} numbers", checkpoint.file_of(*gain).string(),
                            printable(name), to_string(gain->shape), info(gain->dtype).name, sizes.d_model));
  }
  for (LayerTensors& layer : map.layers) {
    layer.cross = true;
    layer.memory_gain = gain;
    if (match.order == NormOrder::kPre && gain == nullptr) layer.missing.push_back(name);
  }
}

}  // namespace

HeadMap map_heads(const Checkpoint& checkpoint, const FamilyMatch& match, const HeadSizes& sizes) {
  return Mapper(checkpoint, match, sizes).run();
}

HeadMap map_blocks(const Checkpoint& checkpoint, const FamilyMatch& match, const HeadSizes& sizes) {
  if (!sizes.has_blocks()) return map_heads(checkpoint, match, sizes);
  HeadMap all;
  for (const Block block : kNamedBlocks) {
    HeadSizes own = sizes;
    own.layers = sizes.layers_of(block);
    HeadMap map = map_heads(checkpoint, match.of_block(block), own);
    if (block == Block::kCross) add_memory(checkpoint, match, sizes, map);
    std::ranges::move(map.layers, std::back_inserter(all.layers));
    map.layers = std::move(all.layers);
    all = std::move(map);
  }
  return all;
}

}  // namespace headscope
