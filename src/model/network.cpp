#include "headscope/model/network.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "headscope/base/error.h"
#include "headscope/model/model.h"
#include "model/block_scale.h"
#include "model/find_family.h"
#include "model/forward_settings.h"
#include "model/layer_names.h"

namespace headscope {
namespace {

class Resolver {
 public:
  explicit Resolver(const Model& model)
      : model_(model),
        checkpoint_(model.checkpoint()),
        match_(find_family(checkpoint_, model.info().family)),
        layout_(*match_.layout),
        names_(layout_.forward),
        sizes_(model.info().sizes),
        width_(sizes_.d_model) {}

  Network run() {
    reject_relatives();
    settings_ = forward_settings(checkpoint_, match_, sizes_);
    network_.order = match_.order;
    network_.parallel = settings_.parallel;
    network_.causal = match_.family->causal;
    network_.activation = settings_.activation;
    network_.score_cap = static_cast<float>(settings_.score_cap);
    network_.rotary = settings_.rotary;
    network_.local_rotary = settings_.local_rotary;
    input();
    for (std::size_t i = 0; i < sizes_.layers; ++i) network_.layers.push_back(layer(i));
    output();
    return std::move(network_);
  }

 private:
  [[noreturn]] void unsupported(const std::string& why) const {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: {}; headscope cannot run this model, but relate works",
                                                     checkpoint_.path().string(), why));
  }
  [[noreturn]] void lacks(const std::string& name) const {
    throw Error(ErrorKind::kFormat, fmt::format("{}: lacks tensor '{}', which is needed to run the model",
                                                checkpoint_.path().string(), printable(name)));
  }

  void reject_relatives() const {
    if (names_.mlp.empty()) {
      unsupported(
          fmt::format("no forward pass for {}{}", match_.family->name, checkpoint_.is_gguf() ? " in GGUF" : ""));
    }
    for (const std::string& name : names_.never_has) {
      if (find(name) != nullptr) unsupported(fmt::format("has tensor '{}'", printable(name)));
    }
    const std::string_view variant = match_.config.find("architecture").as_string().value_or("");
    for (const std::string_view other : {"clip", "siglip", "relpos", "gap", "xp"}) {
      if (match_.family->name == "timm_vit" && variant.find(other) != std::string_view::npos) {
        unsupported(fmt::format("timm's '{}'", printable(variant)));
      }
    }
  }

  // Finds a tensor by its full name, with or without the prefix.
  [[nodiscard]] const StoredTensor* find(const std::string& name) const {
    if (name.empty()) return nullptr;
    const StoredTensor* tensor = checkpoint_.find(match_.prefix + name);
    return tensor != nullptr ? tensor : checkpoint_.find(name);
  }

  [[nodiscard]] const StoredTensor* readable(const StoredTensor* tensor) const {
    if (tensor != nullptr && !info(tensor->dtype).decodable) {
      throw Error(
          ErrorKind::kUnsupported,
          fmt::format("{}: tensor '{}' is stored as {}, which headscope does not decode",
                      checkpoint_.file_of(*tensor).string(), printable(tensor->name), info(tensor->dtype).name));
    }
    return tensor;
  }

  [[noreturn]] void wrong_shape(const StoredTensor& tensor, const std::string& expected) const {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: tensor '{}' is {}, expected {}", checkpoint_.file_of(tensor).string(),
                            printable(tensor.name), to_string(tensor.shape), expected));
  }

  // Returns a vector of `size`; nullptr if it does not exist.
  [[nodiscard]] const StoredTensor* vector(const std::string& name, std::size_t size) const {
    const StoredTensor* tensor = readable(find(name));
    if (tensor != nullptr && tensor->shape != Shape{size}) wrong_shape(*tensor, to_string(Shape{size}));
    return tensor;
  }

  // A matrix with `in` inputs; `out` 0 accepts any number of outputs.
  [[nodiscard]] StoredLinear linear(const std::string& module, std::size_t in, std::size_t out,
                                    Storage storage = Storage::kOutIn) const {
    StoredLinear result;
    result.storage = storage;
    result.weight = readable(find(module + ".weight"));
    if (result.weight == nullptr) lacks(match_.prefix + module + ".weight");
    const Shape& shape = result.weight->shape;
    if (shape.size() != 2 || result.in() != in || (out != 0 && result.out() != out) || result.out() == 0) {
      wrong_shape(*result.weight, fmt::format("{} inputs{}", in, out != 0 ? fmt::format(" and {} outputs", out) : ""));
    }
    if (const std::string scale = missing_block_scale(checkpoint_, *result.weight); !scale.empty()) lacks(scale);
    result.bias = vector(module + ".bias", result.out());
    return result;
  }

  [[nodiscard]] std::optional<StoredNorm> norm(const std::string& module, std::size_t size, bool required) const {
    if (module.empty()) return std::nullopt;
    StoredNorm result;
    result.kind = match_.family->norm;
    result.gain = vector(module + ".weight", size);
    result.bias = vector(module + ".bias", size);
    if (result.gain == nullptr) result.gain = vector(module + ".gamma", size);  // BERT files older than transformers
    if (result.bias == nullptr) result.bias = vector(module + ".beta", size);
    if (result.gain == nullptr && required) lacks(match_.prefix + module + ".weight");
    if (result.gain == nullptr) return std::nullopt;
    result.offset = layout_.norm_offset;
    result.epsilon = settings_.epsilon;
    return result;
  }

  [[nodiscard]] std::optional<StoredNorm> layer_norm(const std::string& pattern, std::size_t i, std::size_t size,
                                                     bool required) const {
    return norm(layer_name(pattern, i), size, required);
  }

  void input() {
    NetworkInput& in = network_.input;
    if (match_.family->modality == Modality::kImage) {
      image_input();
    } else {
      in.embedding = vocabulary_matrix(model_.info().embedding);
      if (in.embedding == nullptr) lacks(match_.prefix + layout_.embedding.front());
      // Its rows are read one by one, without block factors.
      if (find_block_scale(checkpoint_, *in.embedding) != nullptr) unsupported("has an embedding in FP8 blocks");
      const std::size_t embedded = in.embedding->shape[1];
      if (embedded != width_ && names_.project_in.empty()) {
        wrong_shape(*in.embedding, fmt::format("[vocabulary, {}]", width_));
      }
      if (embedded != width_) in.project = linear(names_.project_in, embedded, width_);
      if (match_.family->forward.scaled_embedding) in.embedding_scale = std::sqrt(static_cast<float>(width_));
      in.token_types = table(names_.token_types);
    }
    in.positions = table(names_.positions);
    const bool learned = match_.position == PositionKind::kLearned || match_.position == PositionKind::kLearnedOffset;
    if (learned && in.positions == nullptr) lacks(match_.prefix + names_.positions);
    if (!learned) in.positions = nullptr;
    in.position_offset = settings_.position_offset;
    in.padding = settings_.padding;
    in.norm = norm(names_.embedding_norm, width_, /*required=*/!names_.embedding_norm.empty());
  }

  // Returns a matrix with one row per token; nullptr if it does not exist.
  [[nodiscard]] const StoredTensor* vocabulary_matrix(const std::string& name) const {
    const StoredTensor* tensor = readable(checkpoint_.find(name));
    if (tensor != nullptr && (tensor->shape.size() != 2 || tensor->shape[0] == 0 || tensor->shape[1] == 0)) {
      wrong_shape(*tensor, "[vocabulary, width]");
    }
    return tensor;
  }

  // Returns a table with rows of d_model, with or without leading extents of 1; nullptr if it does not exist.
  [[nodiscard]] const StoredTensor* table(const std::string& name) const {
    const StoredTensor* tensor = readable(find(name));
    if (tensor == nullptr) return nullptr;
    const Shape& shape = tensor->shape;
    bool fits = !shape.empty() && shape.back() == width_ && element_count(shape).value_or(0) > 0;
    for (std::size_t axis = 0; axis + 2 < shape.size(); ++axis) fits = fits && shape[axis] == 1;
    if (!fits) wrong_shape(*tensor, fmt::format("rows of {}", width_));
    return tensor;
  }

  void image_input() {
    NetworkInput& in = network_.input;
    in.patches.weight = readable(find(names_.patches + ".weight"));
    if (in.patches.weight == nullptr) lacks(match_.prefix + names_.patches + ".weight");
    const Shape& shape = in.patches.weight->shape;
    if (shape.size() != 4 || shape[0] != width_ || shape[1] == 0 || shape[2] == 0 || shape[3] == 0) {
      wrong_shape(*in.patches.weight, fmt::format("[{}, channels, patch, patch]", width_));
    }
    in.patches.bias = vector(names_.patches + ".bias", width_);
    for (const std::string& name : names_.leading) {
      if (const StoredTensor* token = table(name)) in.leading.push_back(token);
    }
    in.registers = table(names_.registers);
    if (!names_.registers.empty() && in.registers == nullptr) lacks(match_.prefix + names_.registers);
    in.interpolate = match_.family->forward.interpolated_positions;
    in.image_height = settings_.image_height;
    in.image_width = settings_.image_width;
  }

  NetworkLayer layer(std::size_t i) const {
    NetworkLayer layer;
    attention(i, layer);
    const LayerTensors& heads = model_.head_map().layers[i];
    const bool pre = match_.order == NormOrder::kPre;
    // OPT's post-norm model uses the same names.
    const std::string& after_attention =
        pre || !names_.norm_after_attention.empty() ? names_.norm_after_attention : layout_.norm;
    const std::string& after_mlp = pre || !names_.norm_after_mlp.empty() ? names_.norm_after_mlp : names_.mlp_norm;
    if (pre) layer.norm = layer_norm(layout_.norm, i, width_, /*required=*/true);
    if (pre) layer.mlp_norm = layer_norm(names_.mlp_norm, i, width_, /*required=*/true);
    layer.norm_after_attention = layer_norm(after_attention, i, width_, /*required=*/true);
    layer.norm_after_mlp = layer_norm(after_mlp, i, width_, /*required=*/true);
    // Gemma's scale is a norm, which was handled above.
    if (!layer.norm_after_attention) layer.attention_scale = heads.output_scale;
    if (!names_.mlp_scale.empty()) {
      layer.mlp_scale = vector(layer_name(names_.mlp_scale, i), width_);
      if (layer.mlp_scale == nullptr && !layout_.output_scale_optional) {
        lacks(match_.prefix + layer_name(names_.mlp_scale, i));
      }
    }
    mlp(i, layer);
    layer.window = settings_.windows[i];
    layer.local_rotary = settings_.local[i] && match_.family->forward.local_rotary_base > 0;
    const double divisor = settings_.scale_by_layer ? static_cast<double>(i + 1) : 1;
    layer.score_scale = static_cast<float>(settings_.score_scale / divisor);
    return layer;
  }

  void attention(std::size_t i, NetworkLayer& layer) const {
    const LayerTensors& heads = model_.head_map().layers[i];
    if (!heads.missing.empty()) lacks(heads.missing.front());
    const bool fused = layout_.fusion != Fusion::kNone;
    const std::array<const std::string*, 4> modules = {&layout_.q, fused ? &layout_.q : &layout_.k,
                                                       fused ? &layout_.q : &layout_.v, &layout_.o};
    for (const Role role : kRoles) {
      const auto r = static_cast<std::size_t>(role);
      const std::size_t in = role == Role::kO ? sizes_.heads * sizes_.d_head : width_;
      layer.linear[r] = linear(layer_name(*modules[r], i), in, role == Role::kO ? width_ : 0, layout_.storage);
      layer.slices[r] = heads.slices[r];
    }
    layer.q_norm = layer_norm(layout_.q_norm, i, sizes_.d_head, /*required=*/false);
    layer.k_norm = layer_norm(names_.k_norm, i, sizes_.d_head, layer.q_norm.has_value());
  }

  void mlp(std::size_t i, NetworkLayer& layer) const {
    const MlpNames* chosen = nullptr;
    for (const MlpNames& form : names_.mlp) {
      const std::string& first = form.gate.empty() ? form.up : form.gate;
      if (chosen == nullptr && find(layer_name(first, i) + ".weight") != nullptr) chosen = &form;
    }
    if (chosen == nullptr) lacks(match_.prefix + layer_name(names_.mlp.front().up, i) + ".weight");
    layer.up = linear(layer_name(chosen->up, i), width_, 0, layout_.storage);
    layer.gate_in_up = chosen->fused;
    if (chosen->fused && layer.up.out() % 2 != 0) wrong_shape(*layer.up.weight, "an even number of outputs");
    const std::size_t hidden = chosen->fused ? layer.up.out() / 2 : layer.up.out();
    if (!chosen->gate.empty()) layer.gate = linear(layer_name(chosen->gate, i), width_, hidden, layout_.storage);
    layer.down = linear(layer_name(chosen->down, i), hidden, width_, layout_.storage);
  }

  void output() {
    NetworkOutput& out = network_.output;
    const bool has_norm = match_.order == NormOrder::kPre && settings_.final_norm;
    if (has_norm) out.norm = norm(names_.final_norm, width_, /*required=*/true);
    out.pooling = settings_.pooling;
    out.logit_cap = static_cast<float>(settings_.logit_cap);
    for (const std::vector<std::string>& form : names_.classify) {
      if (out.classifiers.empty() && find(form.back() + ".weight") != nullptr) {
        const std::size_t in = settings_.pooling == Pooling::kFirstAndMean ? 2 * width_ : width_;
        for (const std::string& module : form) out.classifiers.push_back(linear(module, in, 0));
        check_classifiers();
      }
    }
    const StoredTensor* matrix = vocabulary_matrix(model_.info().unembedding);
    if (matrix != nullptr && !names_.no_unembedding) unembedding(*matrix);
  }

  // Classifiers must have the same classes, and each reads a token of its own.
  void check_classifiers() const {
    const std::vector<StoredLinear>& classifiers = network_.output.classifiers;
    for (const StoredLinear& one : classifiers) {
      if (one.out() != classifiers.front().out()) {
        wrong_shape(*one.weight, fmt::format("{} outputs", classifiers.front().out()));
      }
    }
    std::size_t tokens = 0;
    for (const StoredTensor* token : network_.input.leading) {
      tokens += static_cast<std::size_t>(element_count(token->shape).value_or(0)) / width_;
    }
    if (settings_.pooling != Pooling::kMean && tokens < classifiers.size()) {
      lacks(match_.prefix + names_.leading.at(std::min(tokens, names_.leading.size() - 1)));
    }
  }

  void unembedding(const StoredTensor& matrix) {
    NetworkOutput& out = network_.output;
    // A bare BERT has an embedding that could be tied, but no head that would use it.
    const bool has_transform = find(names_.transform + ".weight") != nullptr;
    if (!names_.transform.empty() && !has_transform) return;
    const std::size_t in = matrix.shape[1];
    if (const std::string scale = missing_block_scale(checkpoint_, matrix); !scale.empty()) lacks(scale);
    if (in != width_ && names_.project_out.empty()) wrong_shape(matrix, fmt::format("[vocabulary, {}]", width_));
    if (in != width_) out.project = linear(names_.project_out, width_, in);
    if (has_transform) {
      out.transform = linear(names_.transform, width_, width_);
      if (!match_.family->forward.exact_gelu_before_unembedding) out.transform_activation = network_.activation;
      out.transform_norm = norm(names_.transform_norm, width_, /*required=*/true);
    }
    StoredLinear last;
    last.weight = &matrix;
    last.bias = vector(names_.unembedding_bias, last.out());
    out.unembedding = last;
  }

  const Model& model_;
  const Checkpoint& checkpoint_;
  FamilyMatch match_;
  const Layout& layout_;
  const ForwardNames& names_;
  const HeadSizes& sizes_;
  std::size_t width_;
  ForwardSettings settings_;
  Network network_;
};

}  // namespace

Network resolve_network(const Model& model) {
  return Resolver(model).run();
}

}  // namespace headscope
