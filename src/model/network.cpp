#include "headscope/model/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/model/model.h"
#include "model/block_scale.h"
#include "model/config_reader.h"
#include "model/expert_tensors.h"
#include "model/find_family.h"
#include "model/forward_settings.h"
#include "model/layer_names.h"
#include "model/towers.h"

namespace headscope {
namespace {

class Resolver {
 public:
  // Resolves the layers of one block.
  Resolver(const Model& model, const FamilyMatch& match, Block block)
      : model_(model),
        checkpoint_(model.checkpoint()),
        match_(match),
        block_(block),
        layout_(*match_.layout),
        names_(layout_.forward),
        sizes_(model.info().sizes),
        first_(sizes_.layer_of(BlockLayer{block, 0}).value_or(0)),
        width_(sizes_.d_model) {
    sizes_.layers = sizes_.layers_of(block);
  }

  Network run() {
    reject_relatives();
    settings_ = forward_settings(checkpoint_, match_, sizes_);
    network_.order = match_.order;
    network_.parallel = settings_.parallel;
    network_.causal = block_ == Block::kOnly ? match_.causal : block_ == Block::kDecoder;
    network_.activation = settings_.activation;
    network_.score_cap = static_cast<float>(settings_.score_cap);
    network_.clip = static_cast<float>(settings_.clip);
    network_.branch_factor = static_cast<float>(settings_.branch_factor);
    network_.joint_head_norms = layout_.joint_head_norms;
    network_.query_growth = settings_.query_growth;
    network_.query_period = settings_.query_period;
    network_.query_shift = settings_.query_shift;
    if (!names_.experts.routers.empty()) experts_ = expert_settings(checkpoint_, match_);
    bias();
    relative();
    network_.rotary = settings_.rotary;
    network_.local_rotary = settings_.local_rotary;
    if (block_ != Block::kCross) input();
    for (std::size_t i = 0; i < sizes_.layers; ++i) network_.layers.push_back(layer(i));
    if (layout_.hybrid) mixers();
    if (block_ != Block::kCross) output();
    network_.no_patch = no_patch();
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
    if (!match_.family->no_forward.empty()) unsupported(match_.family->no_forward);
    if (names_.mlp.empty() && names_.experts.routers.empty() && block_ != Block::kDecoder) {
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

  // The name that a layer's tensor has in the file.
  [[nodiscard]] std::string named(const std::string& pattern, std::size_t layer) const {
    return layer_name(pattern, match_.stored(layer));
  }

  // Finds a tensor by its full name, with or without the prefix or a part of it.
  [[nodiscard]] const StoredTensor* find(const std::string& name) const {
    if (name.empty()) return nullptr;
    for (const std::string_view outer : enclosing_prefixes(match_.prefix)) {
      if (const StoredTensor* tensor = checkpoint_.find(std::string(outer) + name)) return tensor;
    }
    return nullptr;
  }

  [[nodiscard]] const StoredTensor* readable(const StoredTensor* tensor) const {
    if (tensor != nullptr && !is_decodable(*tensor)) {
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

  // The same, or a matrix of one row.
  [[nodiscard]] const StoredTensor* row(const std::string& name, std::size_t size) const {
    const StoredTensor* tensor = readable(find(name));
    return tensor != nullptr && tensor->shape == Shape{1, size} ? tensor : vector(name, size);
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
    result.epsilon = settings_.epsilon;
    if (layout_.bare_norms) return result;
    result.gain = vector(module + ".weight", size);
    result.bias = vector(module + ".bias", size);
    if (result.gain == nullptr) result.gain = vector(module + ".gamma", size);  // BERT files older than transformers
    if (result.bias == nullptr) result.bias = vector(module + ".beta", size);
    if (result.gain == nullptr && required) lacks(match_.prefix + module + ".weight");
    if (result.gain == nullptr) return std::nullopt;
    result.offset = layout_.norm_offset;
    return result;
  }

  // A norm of queries or keys, head by head or over all heads.
  [[nodiscard]] std::optional<StoredNorm> head_norm(const std::string& pattern, std::size_t i, std::size_t heads,
                                                    bool required) const {
    const std::string module = named(pattern, i);
    const std::size_t d_head = sizes_.width(i, Role::kK);
    const auto place = module.find("{h}");
    if (place == std::string::npos) {
      const StoredTensor* gain = find(module + ".weight");
      if (gain == nullptr || gain->shape != Shape{heads, d_head}) {
        return norm(module, (layout_.joint_head_norms ? heads : 1) * d_head, required);
      }
      StoredNorm result{.kind = match_.family->norm, .gain = readable(gain), .epsilon = settings_.epsilon};
      result.offset = layout_.norm_offset;
      return result;
    }
    std::optional<StoredNorm> all;
    for (std::size_t head = 0; head < heads; ++head) {
      const auto one = norm(std::string(module).replace(place, 3, std::to_string(head)), d_head, required);
      if (!one) return std::nullopt;
      if (head == 0) all = one;
      if (head > 0) all->other_gains.push_back(one->gain);
      required = true;
    }
    return all;
  }

  void bias() {
    if (match_.position == PositionKind::kAlibi) {
      // The slopes of 2^k heads, in order; of another number of heads the slopes for the next power of two, every
      // second one first.
      const auto heads = sizes_.heads;
      const std::size_t all = std::bit_ceil(heads);
      for (std::size_t head = 0; head < heads; ++head) {
        const std::size_t i = all == heads ? head + 1 : head < all / 2 ? 2 * head + 2 : 2 * (head - all / 2) + 1;
        const double power = static_cast<double>(i) * settings_.alibi_max / static_cast<double>(all);
        const double scale = match_.family->forward.scaled_alibi ? settings_.score_scale : 1;
        network_.bias.slopes.push_back(static_cast<float>(std::exp2(-power) * scale));
      }
    }
    const bool by_distance =
        match_.position == PositionKind::kRelativeBias || match_.position == PositionKind::kDistanceBias;
    if (by_distance && block_ != Block::kCross) {
      network_.bias.max_distance = settings_.bias_distance;
      network_.bias.table = readable(find(names_.relative_bias));
      if (network_.bias.table == nullptr) lacks(match_.prefix + names_.relative_bias);
      const Shape& shape = network_.bias.table->shape;
      if (shape.size() != 2 || shape[0] < 4 || shape[0] % 4 != 0 || shape[0] > network_.bias.max_distance ||
          shape[1] != sizes_.heads) {
        wrong_shape(*network_.bias.table, fmt::format("[buckets, {}], a multiple of 4 buckets, at most {}",
                                                      sizes_.heads, network_.bias.max_distance));
      }
    }
  }

  void relative() {
    if (!settings_.relative) return;
    RelativePositions& positions = network_.relative;
    positions.buckets = settings_.relative_buckets;
    positions.longest = settings_.relative_longest;
    positions.sinusoidal = match_.position == PositionKind::kRelative;
    if (positions.sinusoidal) return;
    const std::size_t middle = positions.buckets / 2;
    if (positions.buckets > 0 && (middle < 2 || positions.longest < middle + 2)) {
      throw Error(
          ErrorKind::kFormat,
          fmt::format("{}: {} buckets for relative positions up to {}, expected at least 4, and positions beyond "
                      "half of them",
                      checkpoint_.config_path().string(), positions.buckets, positions.longest));
    }
    positions.span = positions.buckets > 0 ? positions.buckets : positions.longest;
    positions.table = table(names_.relative_table, width_);
    if (positions.table == nullptr) lacks(match_.prefix + names_.relative_table);
    if (positions.span == 0 || positions.table->shape.size() != 2 || positions.table->shape[0] < 2 * positions.span) {
      wrong_shape(*positions.table, fmt::format("at least [{}, {}]", 2 * positions.span, width_));
    }
    if (settings_.relative_normed) positions.norm = norm(names_.relative_norm, width_, /*required=*/true);
  }

  void relative(std::size_t i, NetworkLayer& layer) const {
    const bool shared = settings_.relative_shared;
    const std::size_t out = sizes_.heads * sizes_.d_head;
    const auto projection = [&](const std::string& own, const std::string& heads) {
      return linear(named(shared ? heads : own, i), width_, out, layout_.storage);
    };
    if (settings_.relative_keys) layer.relative_key = projection(names_.relative_key, layout_.k);
    if (settings_.relative_queries) layer.relative_query = projection(names_.relative_query, layout_.q);
    const auto bias = [&](const std::string& name) -> const StoredTensor* {
      if (name.empty()) return nullptr;
      const StoredTensor* tensor = readable(find(named(name, i)));
      // Layers may share it.
      if (tensor == nullptr) tensor = readable(find(name.substr(name.rfind('.') + 1)));
      if (tensor == nullptr) lacks(match_.prefix + named(name, i));
      if (tensor->shape != Shape{sizes_.heads, sizes_.d_head}) {
        wrong_shape(*tensor, to_string(Shape{sizes_.heads, sizes_.d_head}));
      }
      return tensor;
    };
    layer.content_bias = bias(names_.content_bias);
    layer.position_bias = bias(names_.position_bias);
  }

  [[nodiscard]] std::string no_patch() const {
    if (!network_.relative.empty()) return "its scores compare queries and keys with relative positions";
    if (sizes_.d_rotary > 0)
      return "its heads share a rotary key, and their other keys and values come from one latent";
    if (!network_.mixers.empty()) return "layers without attention lie between those with it";
    if (network_.joint_head_norms) return "its queries and keys are normalized over all heads together";
    if (!network_.bias.empty()) return "its scores have a bias by distance";
    if (match_.position == PositionKind::kGridBias) return "its scores have a bias by distance";
    if (network_.rotary.grid != RotaryGrid::kNone) return "its rotary positions are those of an image's patches";
    if (network_.clip > 0) return "its queries, keys and values are clipped";
    if (network_.branch_factor != 1) return "the outputs of its branches are multiplied by a constant";
    if (!sizes_.by_layer.empty()) return "its layers have heads of different sizes, or share keys and values";
    if (network_.input.token_inputs != nullptr) return "its layers have token embeddings of their own";
    const auto own_gains = [&](const std::optional<StoredNorm>& one) {
      return one && one->gain != nullptr && (one->gain->shape.size() > 1 || !one->other_gains.empty());
    };
    for (const NetworkLayer& layer : network_.layers) {
      if (own_gains(layer.q_norm) || own_gains(layer.k_norm)) return "each head has a norm of its own";
    }
    return "";
  }

  [[nodiscard]] std::optional<StoredNorm> layer_norm(const std::string& pattern, std::size_t i, std::size_t size,
                                                     bool required) const {
    return norm(named(pattern, i), size, required);
  }

  void input() {
    NetworkInput& in = network_.input;
    if (match_.family->modality == Modality::kImage) {
      image_input();
    } else if (!names_.convolutions.empty()) {
      audio_input();
    } else {
      if (names_.embedding_tables.empty()) {
        in.embedding = vocabulary_matrix(embedding_name());
        if (in.embedding == nullptr) lacks(match_.prefix + layout_.embedding.front());
      } else {
        embedding_tables();
      }
      // Its rows are read one by one, without block factors.
      if (find_block_scale(checkpoint_, *in.embedding) != nullptr) unsupported("has an embedding in FP8 blocks");
      const std::size_t embedded = in.embedding->shape[1];
      if (in.tables.empty() && embedded != width_ && names_.project_in.empty()) {
        wrong_shape(*in.embedding, fmt::format("[vocabulary, {}]", width_));
      }
      const bool maps = names_.narrow_embedding && find(names_.project_in + ".weight") != nullptr;
      if (in.tables.empty() && (embedded != width_ || maps)) in.project = linear(names_.project_in, embedded, width_);
      if (settings_.scaled_embedding) in.embedding_scale = std::sqrt(static_cast<float>(width_));
      in.embedding_scale *= static_cast<float>(settings_.embedding_factor);
      in.dropped_token = settings_.dropped_token;
      in.narrow = names_.narrow_embedding;
      in.token_types = table(names_.token_types, placed_width());
    }
    if (!names_.token_inputs.empty()) token_inputs();
    in.positions = table(names_.positions, placed_width());
    const bool learned = match_.position == PositionKind::kLearned || match_.position == PositionKind::kLearnedOffset ||
                         match_.position == PositionKind::kRelativeBias;
    if (learned && in.positions == nullptr) lacks(match_.prefix + names_.positions);
    const bool either = match_.position == PositionKind::kDisentangled || match_.position == PositionKind::kGridBias ||
                        match_.position == PositionKind::kRotaryGrid;
    if (!learned && !either) in.positions = nullptr;
    in.position_offset = settings_.position_offset;
    if (match_.position == PositionKind::kSinusoidal) in.sinusoids = settings_.positions;
    in.padding = settings_.padding;
    in.norm = norm(names_.embedding_norm, placed_width(), /*required=*/!names_.embedding_norm.empty());
  }

  // The decoder may have an embedding of its own.
  [[nodiscard]] std::string embedding_name() const {
    if (block_ != Block::kDecoder) return model_.info().embedding;
    for (const std::string& name : layout_.embedding) {
      if (const StoredTensor* tensor = find(name)) return tensor->name;
    }
    return model_.info().embedding;
  }

  void audio_input() {
    std::size_t channels = 0;  // of the first, as the file says
    for (const std::string& name : names_.convolutions) {
      StoredLinear one{.weight = readable(find(name + ".weight")), .bias = vector(name + ".bias", width_)};
      if (one.weight == nullptr) lacks(match_.prefix + name + ".weight");
      const Shape& shape = one.weight->shape;
      if (shape.size() != 3 || shape[0] != width_ || shape[1] == 0 || (channels > 0 && shape[1] != channels) ||
          shape[2] % 2 == 0 || shape[2] > 99) {
        wrong_shape(*one.weight, fmt::format("[{}, channels, an odd width]", width_));
      }
      channels = width_;
      network_.input.convolutions.push_back(one);
    }
  }

  void token_inputs() {
    NetworkInput& in = network_.input;
    in.token_inputs = readable(find(names_.token_inputs));
    if (in.token_inputs == nullptr) return;
    const Shape& shape = in.token_inputs->shape;
    if (shape.size() != 2 || shape[1] == 0 || shape[1] % sizes_.layers != 0) {
      wrong_shape(*in.token_inputs, fmt::format("[vocabulary, a multiple of {} layers]", sizes_.layers));
    }
    if (find_block_scale(checkpoint_, *in.token_inputs) != nullptr) unsupported("has an embedding in FP8 blocks");
    in.token_projection = linear(names_.token_projection, width_, shape[1]);
    in.token_norm = norm(names_.token_norm, shape[1] / sizes_.layers, /*required=*/true);
  }

  void embedding_tables() {
    NetworkInput& in = network_.input;
    for (std::size_t i = 0;; ++i) {
      const StoredTensor* rows = find(layer_name(names_.embedding_tables, i));
      if (rows == nullptr) break;
      const StoredTensor* projection = readable(find(layer_name(names_.embedding_projections, i)));
      in.tables.push_back({vocabulary_matrix(rows->name), projection});
      const std::size_t width = rows->shape[1];
      if (projection == nullptr && width != width_) lacks(match_.prefix + layer_name(names_.embedding_projections, i));
      if (projection != nullptr && projection->shape != Shape{width_, width}) {
        wrong_shape(*projection, to_string(Shape{width_, width}));
      }
    }
    if (in.tables.empty()) lacks(match_.prefix + layer_name(names_.embedding_tables, 0));
    in.embedding = in.tables.front().rows;
  }

  // Width of what positions and token types are added to.
  [[nodiscard]] std::size_t placed_width() const {
    return network_.input.narrow ? network_.input.embedding->shape[1] : width_;
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
  [[nodiscard]] const StoredTensor* table(const std::string& name) const { return table(name, width_); }
  [[nodiscard]] const StoredTensor* table(const std::string& name, std::size_t width) const {
    const StoredTensor* tensor = readable(find(name));
    if (tensor == nullptr) return nullptr;
    const Shape& shape = tensor->shape;
    bool fits = !shape.empty() && shape.back() == width && element_count(shape).value_or(0) > 0;
    for (std::size_t axis = 0; axis + 2 < shape.size(); ++axis) fits = fits && shape[axis] == 1;
    if (!fits) wrong_shape(*tensor, fmt::format("rows of {}", width));
    return tensor;
  }

  void image_input() {
    NetworkInput& in = network_.input;
    in.patches.weight = readable(find(names_.patches + ".weight"));
    if (in.patches.weight == nullptr) lacks(match_.prefix + names_.patches + ".weight");
    const Shape& shape = in.patches.weight->shape;
    const bool fits = (shape.size() == 4 || shape.size() == 5) && shape[0] == width_;
    if (!fits || element_count(shape).value_or(0) == 0) {
      wrong_shape(*in.patches.weight,
                  fmt::format("[{}, channels, patch, patch], or with frames after channels", width_));
    }
    in.patches.bias = vector(names_.patches + ".bias", width_);
    for (const std::string& name : names_.leading) {
      if (const StoredTensor* token = table(name)) in.leading.push_back(token);
    }
    in.registers = table(names_.registers);
    if (!names_.registers.empty() && in.registers == nullptr) lacks(match_.prefix + names_.registers);
    // Rotary positions exist for images of any size.
    in.interpolate = match_.family->forward.interpolated_positions || network_.rotary.grid != RotaryGrid::kNone;
    in.between_corners = match_.family->forward.positions_between_corners;
    in.image_height = settings_.image_height;
    in.image_width = settings_.image_width;
  }

  // The table has a row for every distance in rows and columns, and three for the class token.
  [[nodiscard]] const StoredTensor* grid_bias(std::size_t i) const {
    if (names_.grid_bias.empty()) return nullptr;
    const StoredTensor* table = readable(find(named(names_.grid_bias, i)));
    if (table == nullptr) table = readable(find(names_.shared_grid_bias));
    if (table == nullptr) return nullptr;
    const NetworkInput& in = network_.input;
    const Shape& kernel = in.patches.weight->shape;
    const std::size_t height = in.image_height / kernel[kernel.size() - 2];
    const std::size_t width = in.image_width / kernel.back();
    if (height == 0 || height != width) unsupported("does not say that its images are square");
    if (in.leading.size() != 1) unsupported("has no class token");
    const Shape expected = {(2 * height - 1) * (2 * width - 1) + 3, sizes_.heads};
    if (table->shape != expected) wrong_shape(*table, to_string(expected));
    return table;
  }

  NetworkLayer layer(std::size_t i) const {
    NetworkLayer layer;
    attention(i, layer);
    layer.block = block_;
    layer.causal = network_.causal;
    layer.has_mlp = block_ != Block::kDecoder;
    const LayerTensors& heads = model_.head_map().layers[first_ + i];
    const bool pre = match_.order == NormOrder::kPre;
    // OPT's post-norm model uses the same names.
    const std::string& after_attention =
        pre || !names_.norm_after_attention.empty() ? names_.norm_after_attention : layout_.norm;
    const std::string& after_mlp = pre || !names_.norm_after_mlp.empty() ? names_.norm_after_mlp : names_.mlp_norm;
    const bool shared = settings_.parallel && names_.mlp_norm_if_sequential;
    if (pre && heads.normed) layer.norm = layer_norm(layout_.norm, i, width_, /*required=*/true);
    if (pre && !shared && layer.has_mlp) layer.mlp_norm = layer_norm(names_.mlp_norm, i, width_, /*required=*/true);
    layer.norm_after_attention = layer_norm(after_attention, i, width_, /*required=*/true);
    layer.norm_after_mlp = layer_norm(after_mlp, i, width_, /*required=*/true);
    // Gemma's scale is a norm, which was handled above.
    if (!layer.norm_after_attention) layer.attention_scale = heads.output_scale;
    if (!names_.mlp_scale.empty()) {
      layer.mlp_scale = vector(named(names_.mlp_scale, i), width_);
      if (layer.mlp_scale == nullptr && !layout_.output_scale_optional) {
        lacks(match_.prefix + named(names_.mlp_scale, i));
      }
    }
    if (layer.has_mlp) mlp(match_.stored(i), layer);
    if (network_.input.token_inputs != nullptr) {
      const std::size_t width = network_.input.token_inputs->shape[1] / sizes_.layers;
      layer.token_input = {linear(named(names_.token_gate, i), width_, width),
                           linear(named(names_.token_out, i), width, width_),
                           *layer_norm(names_.token_out_norm, i, width_, /*required=*/true)};
    }
    if (!names_.block_scale.empty()) layer.block_scale = vector(named(names_.block_scale, i), 1);
    if (settings_.relative) relative(i, layer);
    const ForwardRules& rules = match_.family->forward;
    (rules.chunks ? layer.chunk : layer.window) = settings_.windows[i];
    layer.grid_bias = grid_bias(i);
    layer.rotary = settings_.rotated[i];
    layer.growing_queries = !rules.tempered_queries || !layer.rotary;
    if (settings_.bare_head_norms && layer.rotary) {
      layer.q_norm = layer.k_norm = StoredNorm{.kind = NormKind::kRmsNorm, .epsilon = settings_.epsilon};
    }
    layer.local_rotary = layer.window > 0 && rules.local_rotary_base > 0;
    const double divisor = settings_.scale_by_layer ? static_cast<double>(i + 1) : 1;
    layer.score_scale = static_cast<float>(settings_.score_scale / divisor);
    return layer;
  }

  void attention(std::size_t i, NetworkLayer& layer) const {
    const LayerTensors& heads = model_.head_map().layers[first_ + i];
    if (!heads.missing.empty()) lacks(heads.missing.front());
    const bool fused = layout_.fusion != Fusion::kNone;
    const std::array<const std::string*, 4> modules = {&layout_.q, fused ? &layout_.q : &layout_.k,
                                                       fused ? &layout_.q : &layout_.v, &layout_.o};
    for (const Role role : kRoles) {
      const auto r = static_cast<std::size_t>(role);
      const bool reads_latent = heads.latent && role != Role::kO && heads.latent->of(role).rank > 0;
      const std::size_t in = role == Role::kO ? sizes_.heads * sizes_.width(i, Role::kO)
                             : reads_latent   ? heads.latent->of(role).rank
                                              : width_;
      layer.slices[r] = heads.slices[r];
      if (sizes_.heads_of(i, role) == 0) continue;
      const bool is_key = layout_.value_is_key && role == Role::kV && heads.slices[r].tensor == heads.slices[1].tensor;
      const std::string& module = is_key ? layout_.k : *modules[r];
      layer.linear[r] = linear(named(module, i), in, role == Role::kO ? width_ : 0, layout_.storage);
    }
    layer.own_keys = sizes_.kv_layer(i) == i;
    layer.gated_output = layout_.query_gates;
    if (heads.latent) latent(i, *heads.latent, layer);
    layer.q_norm = head_norm(layout_.q_norm, i, sizes_.heads, /*required=*/false);
    if (layer.own_keys) {
      layer.k_norm = head_norm(names_.k_norm, i, sizes_.heads_of(i, Role::kK), layer.q_norm.has_value());
      if (names_.bare_value_norm) layer.v_norm = StoredNorm{.kind = match_.family->norm, .epsilon = settings_.epsilon};
    }
    if (!names_.sinks.empty()) {
      layer.sinks = vector(named(names_.sinks, i), sizes_.heads);
      if (layer.sinks == nullptr) lacks(match_.prefix + named(names_.sinks, i));
    }
  }

  // The router's module; empty if the layer has none.
  [[nodiscard]] std::string router(std::size_t i) const {
    for (const std::string& module : names_.experts.routers) {
      if (find(layer_name(module, i) + ".weight") != nullptr) return layer_name(module, i);
    }
    return "";
  }

  [[nodiscard]] StoredExperts experts(std::size_t i) const {
    const ExpertNames& names = names_.experts;
    StoredExperts result = experts_;
    result.router.linear = linear(router(i), width_, 0);
    const std::size_t count = result.router.linear.out();
    check_router(checkpoint_, result.router, count);
    if (!names.correction.empty()) result.router.correction = vector(layer_name(names.correction, i), count);
    find_experts({.checkpoint = checkpoint_,
                  .named = [&](const std::string& pattern) { return layer_name(pattern, i); },
                  .find = [&](const std::string& name) { return readable(find(name)); },
                  .lacks = [&](const std::string& name) { lacks(match_.prefix + name); }},
                 names, count, width_, result);
    if (names.shared_up.empty() || find(layer_name(names.shared_up, i) + ".weight") == nullptr) return result;
    SharedExpert shared;
    shared.up = linear(layer_name(names.shared_up, i), width_, 0);
    shared.gate = linear(layer_name(names.shared_gate, i), width_, shared.up.out());
    shared.down = linear(layer_name(names.shared_down, i), shared.up.out(), width_);
    shared.switched =
        readable(names.shared_switch.empty() ? nullptr : find(layer_name(names.shared_switch, i) + ".weight"));
    const Shape row = {1, width_};
    if (shared.switched != nullptr && shared.switched->shape != row && shared.switched->shape != Shape{width_}) {
      wrong_shape(*shared.switched, to_string(row));
    }
    result.shared = shared;
    return result;
  }

  void latent(std::size_t i, const LatentTensors& tensors, NetworkLayer& layer) const {
    const LatentNames& names = layout_.latent;
    LatentProjections& latent = layer.latent.emplace();
    const auto inner_norm = [&](const std::string& module, std::size_t rank) {
      StoredNorm found = *norm(named(module, i), rank, /*required=*/true);
      if (!checkpoint_.is_gguf()) found.epsilon = 1e-6;  // whatever `rms_norm_eps` is
      return found;
    };
    if (tensors.query.rank > 0) {
      latent.q_down = linear(named(names.q_down, i), width_, tensors.query.rank);
      latent.q_norm = inner_norm(names.q_norm, tensors.query.rank);
    }
    const std::size_t rank = tensors.key_value.rank;
    latent.kv_down = linear(named(names.kv_down, i), width_, rank + sizes_.d_rotary);
    latent.kv_norm = inner_norm(names.kv_norm, rank);
  }

  // The layers without attention, and where they are.
  void mixers() {
    const ConfigReader config(checkpoint_, match_.config);
    const std::size_t all = config.size(match_.family->keys.layers).value_or(0);
    if (all < match_.stored_layers.back() + 1 || all > checkpoint_.tensors().size()) {
      config.malformed(fmt::format("says {} layers, but layer {} has attention", all, match_.stored_layers.back()));
    }
    std::size_t before = 0;
    for (std::size_t stored = 0; stored < all; ++stored) {
      if (before < sizes_.layers && match_.stored(before) == stored) {
        ++before;
        continue;
      }
      MixerLayer& mixer = network_.mixers.emplace_back();
      mixer.before = before;
      mixer.block.norm = norm(layer_name(layout_.norm, stored), width_, /*required=*/true);
      mixer.block.mlp_norm = norm(layer_name(names_.mlp_norm, stored), width_, /*required=*/true);
      mlp(stored, mixer.block);
      if (names_.mixer.decay.empty()) {
        mixer.convolution = convolution(stored);
      } else {
        mixer.delta = delta(config, stored);
      }
    }
  }

  [[nodiscard]] const StoredTensor* kernel(std::size_t stored, std::size_t width) const {
    const std::string name = layer_name(names_.mixer.kernel, stored) + ".weight";
    const StoredTensor* found = readable(find(name));
    if (found == nullptr) lacks(match_.prefix + name);
    if (found->shape.size() != 3 || found->shape[0] != width || found->shape[1] != 1 || found->shape[2] == 0) {
      wrong_shape(*found, fmt::format("[{}, 1, taps]", width));
    }
    return found;
  }

  [[nodiscard]] ShortConvolution convolution(std::size_t stored) const {
    const MixerNames& names = names_.mixer;
    ShortConvolution mixer;
    mixer.in = linear(layer_name(names.in.front().front(), stored), width_, 3 * width_);
    mixer.kernel = kernel(stored, width_);
    mixer.bias = vector(layer_name(names.kernel, stored) + ".bias", width_);
    mixer.out = linear(layer_name(names.out, stored), width_, width_);
    return mixer;
  }

  [[nodiscard]] GatedDelta delta(const ConfigReader& config, std::size_t stored) const {
    const MixerNames& names = names_.mixer;
    const auto size = [&](const char* key) {
      const std::size_t value = config.size({key}).value_or(0);
      if (value == 0 || value > width_ * 1024) config.malformed(fmt::format("'{}' is {}", key, value));
      return value;
    };
    GatedDelta mixer;
    mixer.key_heads = size("linear_num_key_heads");
    mixer.value_heads = size("linear_num_value_heads");
    mixer.d_key = size("linear_key_head_dim");
    mixer.d_value = size("linear_value_head_dim");
    if (mixer.value_heads % mixer.key_heads != 0) {
      config.malformed(fmt::format("{} value heads of linear attention are no multiple of {} key heads",
                                   mixer.value_heads, mixer.key_heads));
    }
    const std::size_t keys = mixer.key_heads * mixer.d_key;
    const std::size_t values = mixer.value_heads * mixer.d_value;
    const bool apart = find(layer_name(names.in.front().front(), stored) + ".weight") != nullptr;
    const std::vector<std::string>& modules = apart ? names.in.front() : names.in.back();
    const std::vector<std::size_t> outputs =
        modules.size() == 4 ? std::vector<std::size_t>{2 * keys + values, values, mixer.value_heads, mixer.value_heads}
                            : std::vector<std::size_t>{2 * keys + 2 * values, 2 * mixer.value_heads};
    for (std::size_t k = 0; k < modules.size(); ++k) {
      mixer.in.push_back(linear(layer_name(modules[k], stored), width_, outputs[k]));
    }
    mixer.kernel = kernel(stored, 2 * keys + values);
    const auto by_head = [&](const std::string& name) {
      const StoredTensor* found = vector(layer_name(name, stored), mixer.value_heads);
      if (found == nullptr) lacks(match_.prefix + layer_name(name, stored));
      return found;
    };
    mixer.decay = by_head(names.decay);
    mixer.step_bias = by_head(names.step_bias);
    mixer.norm = *norm(layer_name(names.norm, stored), mixer.d_value, /*required=*/true);
    mixer.norm.offset = 0;
    mixer.out = linear(layer_name(names.out, stored), values, width_);
    return mixer;
  }

  // `i` is the layer's number in the file.
  void mlp(std::size_t i, NetworkLayer& layer) const {
    const auto named = [](const std::string& pattern, std::size_t stored) { return layer_name(pattern, stored); };
    if (!router(i).empty()) {
      layer.experts = experts(i);
      return;
    }
    if (names_.mlp.empty()) lacks(match_.prefix + named(names_.experts.routers.front(), i) + ".weight");
    const MlpNames* chosen = nullptr;
    for (const MlpNames& form : names_.mlp) {
      const std::string& first = form.gate.empty() ? form.up : form.gate;
      if (chosen == nullptr && find(named(first, i) + ".weight") != nullptr) chosen = &form;
    }
    if (chosen == nullptr) lacks(match_.prefix + named(names_.mlp.front().up, i) + ".weight");
    layer.up = linear(named(chosen->up, i), width_, 0, layout_.storage);
    layer.gate_in_up = chosen->fused;
    if (chosen->fused && layer.up.out() % 2 != 0) wrong_shape(*layer.up.weight, "an even number of outputs");
    const std::size_t hidden = chosen->fused ? layer.up.out() / 2 : layer.up.out();
    if (!chosen->gate.empty()) layer.gate = linear(named(chosen->gate, i), width_, hidden, layout_.storage);
    layer.down = linear(named(chosen->down, i), hidden, width_, layout_.storage);
  }

  void output() {
    NetworkOutput& out = network_.output;
    const bool has_norm = match_.order == NormOrder::kPre && settings_.final_norm;
    if (has_norm) out.norm = norm(names_.final_norm, width_, /*required=*/true);
    out.pooling = settings_.pooling;
    if (settings_.pooling == Pooling::kMean) out.pooled_norm = norm(names_.pooled_norm, width_, /*required=*/false);
    out.logit_factor = static_cast<float>(settings_.logit_factor);
    out.logit_cap = static_cast<float>(settings_.logit_cap);
    for (const std::vector<std::string>& form : names_.classify) {
      if (out.classifiers.empty() && find(form.back() + ".weight") != nullptr) {
        const std::size_t in = settings_.pooling == Pooling::kFirstAndMean ? 2 * width_ : width_;
        for (const std::string& module : form) out.classifiers.push_back(linear(module, in, 0));
        check_classifiers();
      }
    }
    if (block_ == Block::kEncoder) return;  // its end is what the decoder reads
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
    std::size_t read = width_;
    if (has_transform) {
      out.transform = linear(names_.transform, width_, 0);
      read = out.transform->out();
      if (!match_.family->forward.exact_gelu_before_unembedding) out.transform_activation = network_.activation;
      out.transform_norm = norm(names_.transform_norm, read, /*required=*/true);
    }
    if (in != read && names_.project_out.empty()) wrong_shape(matrix, fmt::format("[vocabulary, {}]", read));
    if (in != read) out.project = linear(names_.project_out, read, in);
    StoredLinear last;
    last.weight = &matrix;
    last.bias = row(names_.unembedding_bias, last.out());
    out.unembedding = last;
  }

  const Model& model_;
  const Checkpoint& checkpoint_;
  FamilyMatch match_;
  Block block_;
  const Layout& layout_;
  const ForwardNames& names_;
  HeadSizes sizes_;    // of this block
  std::size_t first_;  // layer of the model
  std::size_t width_;
  ForwardSettings settings_;
  StoredExperts experts_;  // without tensors
  Network network_;
};

}  // namespace

Network resolve_network(const Model& model) {
  const FamilyMatch match = find_family(model.checkpoint(), model.info().family, model.info().tower);
  if (!model.info().sizes.has_blocks()) return Resolver(model, match, Block::kOnly).run();
  Network network = Resolver(model, match, Block::kEncoder).run();
  Network decoder = Resolver(model, match.of_block(Block::kDecoder), Block::kDecoder).run();
  Network cross = Resolver(model, match.of_block(Block::kCross), Block::kCross).run();
  network.memory_norm = std::move(network.output.norm);
  network.target = std::move(decoder.input);
  network.target_bias = std::move(decoder.bias);
  network.output = std::move(decoder.output);
  std::ranges::move(decoder.layers, std::back_inserter(network.layers));
  std::ranges::move(cross.layers, std::back_inserter(network.layers));
  network.no_patch = "it has an encoder and a decoder";
  return network;
}

void require_patchable(const Model& model, const Network& network) {
  if (network.no_patch.empty()) return;
  throw Error(ErrorKind::kUnsupported, fmt::format("{}: cannot cut edges between heads of this model: {}",
                                                   model.checkpoint().path().string(), network.no_patch));
}

}  // namespace headscope
