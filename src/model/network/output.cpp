#include "model/network/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "model/block_scale.h"
#include "model/network/stages.h"

namespace headscope {
namespace {

// Classifiers must have the same classes, and each reads a token of its own.
void check_classifiers(const BlockSource& block, const NetworkInput& in, const std::vector<StoredLinear>& classifiers) {
  const std::size_t classes = classifiers.front().out();
  for (const StoredLinear& one : classifiers) {
    if (one.out() != classes) block.tensors.wrong_shape(*one.weight, fmt::format("{} outputs", classes));
  }
  std::size_t tokens = 0;
  for (const StoredTensor* token : in.leading) {
    tokens += static_cast<std::size_t>(element_count(token->shape).value_or(0)) / block.width;
  }
  if (block.settings.pooling != Pooling::kMean && tokens < classifiers.size()) {
    const std::vector<std::string>& leading = block.names.leading;
    block.tensors.lacks(leading.at(std::min(tokens, leading.size() - 1)));
  }
}

// The first of the family's forms that the file has.
std::vector<StoredLinear> resolve_classifiers(const BlockSource& block, const NetworkInput& in) {
  for (const std::vector<std::string>& form : block.names.classify) {
    if (block.tensors.find(form.back() + ".weight") == nullptr) continue;
    const std::size_t width = (block.settings.pooling == Pooling::kFirstAndMean ? 2 : 1) * last_width(block);
    std::vector<StoredLinear> classifiers;
    for (const std::string& module : form) classifiers.push_back(block.tensors.linear(module, width, 0));
    check_classifiers(block, in, classifiers);
    return classifiers;
  }
  return {};
}

void resolve_unembedding(const BlockSource& block, const StoredTensor& matrix, NetworkOutput& out) {
  const NetworkTensors& tensors = block.tensors;
  const ForwardNames& names = block.names;
  // A bare BERT has an embedding that could be tied, but no head that would use it.
  const bool has_transform = tensors.find(names.transform + ".weight") != nullptr;
  if (!names.transform.empty() && !has_transform) return;
  if (const std::string scale = missing_block_scale(block.checkpoint, matrix); !scale.empty()) {
    tensors.lacks_in_file(scale);
  }
  std::size_t read = block.width;
  if (has_transform) {
    out.transform = tensors.linear(names.transform, block.width, 0);
    read = out.transform->out();
    const bool exact = block.match.family->forward.exact_gelu_before_unembedding;
    if (!exact) out.transform_activation = block.settings.activation;
    out.transform_norm = block.norm(names.transform_norm, read, /*required=*/true);
  }
  const std::size_t in = matrix.shape[1];
  if (in != read && names.project_out.empty()) tensors.wrong_shape(matrix, fmt::format("[vocabulary, {}]", read));
  if (in != read) out.project = tensors.linear(names.project_out, read, in);
  StoredLinear last;
  last.weight = &matrix;
  last.bias = tensors.row(names.unembedding_bias, last.out());
  out.unembedding = last;
}

}  // namespace

NetworkOutput resolve_output(const BlockSource& block, const NetworkInput& in) {
  const ForwardSettings& settings = block.settings;
  const ForwardNames& names = block.names;
  NetworkOutput out;
  const bool has_norm = block.match.order == NormOrder::kPre && settings.final_norm;
  const std::size_t width = last_width(block);
  if (has_norm) out.norm = block.norm(names.final_norm, width, /*required=*/true);
  out.pooling = settings.pooling;
  if (out.pooling == Pooling::kMean) out.pooled_norm = block.norm(names.pooled_norm, width, /*required=*/false);
  out.logit_factor = static_cast<float>(settings.logit_factor);
  out.logit_cap = static_cast<float>(settings.logit_cap);
  out.classifiers = resolve_classifiers(block, in);
  if (width != block.width && out.classifiers.empty()) return {};  // the output is that of the stage
  if (block.block == Block::kEncoder) return out;                  // its end is what the decoder reads
  const StoredTensor* matrix = block.tensors.vocabulary_matrix(block.model.info().unembedding);
  if (matrix != nullptr && !names.no_unembedding) resolve_unembedding(block, *matrix, out);
  return out;
}

}  // namespace headscope
