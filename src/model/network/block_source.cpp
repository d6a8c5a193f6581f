#include "model/network/block_source.h"

#include <fmt/format.h>

#include <string_view>

#include "headscope/base/error.h"
#include "model/layer_names.h"

namespace headscope {
namespace {

HeadSizes sizes_of(const Model& model, Block block) {
  HeadSizes sizes = model.info().sizes;
  sizes.layers = sizes.layers_of(block);
  return sizes;
}

// The name of a tensor that fits the pattern, in any layer of the file, with or without attention; empty if none does.
std::string first_of(const BlockSource& block, const std::string& pattern) {
  if (pattern.find("{i}") == std::string::npos) return block.tensors.find(pattern) != nullptr ? pattern : "";
  for (const StoredTensor* tensor : block.checkpoint.tensors()) {
    const auto match = match_layer(tensor->name, pattern);
    if (match && match->prefix == block.match.prefix) return tensor->name;
  }
  return "";
}

// Throws if the family, or this member of it, has no forward pass.
void reject_relatives(const BlockSource& block) {
  const Family& family = *block.match.family;
  const ForwardNames& names = block.names;
  if (!family.no_forward.empty()) block.tensors.unsupported(family.no_forward);
  if (names.mlp.empty() && names.experts.routers.empty() && block.block != Block::kDecoder) {
    block.tensors.unsupported(
        fmt::format("no forward pass for {}{}", family.name, block.checkpoint.is_gguf() ? " in GGUF" : ""));
  }
  for (const std::string& pattern : names.never_has) {
    if (const std::string name = first_of(block, pattern); !name.empty()) {
      block.tensors.unsupported(fmt::format("has tensor '{}'", printable(name)));
    }
  }
  const std::string_view variant = block.match.config.find("architecture").as_string().value_or("");
  for (const std::string_view other : {"clip", "siglip", "relpos", "gap", "xp"}) {
    if (family.name == "timm_vit" && variant.find(other) != std::string_view::npos) {
      block.tensors.unsupported(fmt::format("timm's '{}'", printable(variant)));
    }
  }
}

}  // namespace

BlockSource::BlockSource(const Model& of, const FamilyMatch& with, Block which)
    : model(of),
      checkpoint(of.checkpoint()),
      match(with),
      block(which),
      layout(*with.layout),
      names(layout.forward),
      tensors(checkpoint, match),
      sizes(sizes_of(of, which)),
      first(of.info().sizes.layer_of(BlockLayer{which, 0}).value_or(0)),
      width(sizes.d_model) {
  reject_relatives(*this);
  settings = forward_settings(checkpoint, match, sizes);
}

std::optional<StoredNorm> BlockSource::norm(const std::string& module, std::size_t size, bool required) const {
  if (module.empty()) return std::nullopt;
  StoredNorm result;
  result.kind = match.family->norm;
  result.epsilon = settings.epsilon;
  if (layout.bare_norms) return result;
  result.gain = tensors.vector(module + ".weight", size);
  result.bias = tensors.vector(module + ".bias", size);
  // BERT files older than transformers.
  if (result.gain == nullptr) result.gain = tensors.vector(module + ".gamma", size);
  if (result.bias == nullptr) result.bias = tensors.vector(module + ".beta", size);
  if (result.gain == nullptr && required) tensors.lacks(module + ".weight");
  if (result.gain == nullptr) return std::nullopt;
  result.offset = layout.norm_offset;
  return result;
}

std::optional<StoredNorm> BlockSource::layer_norm(const std::string& pattern, std::size_t layer, std::size_t size,
                                                  bool required) const {
  return norm(tensors.named(pattern, layer), size, required);
}

}  // namespace headscope
