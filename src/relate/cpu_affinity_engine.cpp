#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/message.h"
#include "headscope/linalg/block_norms.h"
#include "headscope/relate/affinity_engine.h"
#include "relate/head_factors.h"
#include "relate/joint_span.h"

namespace headscope {
namespace {

struct CpuLayer final : PreparedLayer {
  std::size_t width = 0;
  std::size_t d = 0;
  Buffer<float> values;  // [head][column][d], in coordinates of the span unless it is empty
  JointSpan span;

  [[nodiscard]] FactorStack stack() const noexcept { return {values.data(), ranks.size(), width, d}; }
};

const CpuLayer& own(const PreparedLayer& layer) {
  return static_cast<const CpuLayer&>(layer);  // an engine only gets layers that it made
}

// What one layer's heads have in the space of another's. Products of the two need no more of them.
Buffer<float> projected(const CpuLayer& layer, const JointSpan& onto) {
  if (layer.span.empty()) return coordinates(onto, layer.stack());
  const JointSpan both{onto.rank, layer.span.rank,
                       coordinates(layer.span, {onto.vectors.data(), onto.rank, 1, onto.d})};
  return coordinates(both, layer.stack());
}

class CpuAffinityEngine final : public AffinityEngine {
 public:
  [[nodiscard]] std::unique_ptr<PreparedLayer> prepare(const FactorWeights& weights) const override {
    std::optional<WeightsInSpan> inside = in_joint_span(weights);
    const FactorWeights& used = inside ? inside->weights : weights;
    LayerFactors factors = prepare_factors(used);
    auto layer = std::make_unique<CpuLayer>();
    layer->moments = std::move(factors.moments);
    layer->ranks = std::move(factors.ranks);
    layer->width = used.outer.d_head();
    layer->d = used.outer.d_model();
    layer->values = std::move(factors.values);
    if (inside) layer->span = std::move(inside->span);
    return layer;
  }

  void compute(std::span<const LayerBlock> blocks) const override {
    std::vector<NormBlock> products;
    products.reserve(blocks.size());
    for (const LayerBlock& block : blocks) {
      const CpuLayer& source = own(*block.source);
      const CpuLayer& target = own(*block.target);
      if (&source != &target && !(source.span.empty() && target.span.empty())) {
        compute_in_span(source, target, block);
      } else {
        products.push_back({source.stack(), target.stack(), block.out, block.out_stride});
      }
    }
    norms_->compute(products);
  }
  void wait() const override {}

  [[nodiscard]] std::size_t layer_bytes(std::size_t heads, std::size_t d_model, std::size_t d_head) const override {
    return heads * d_model * d_head * sizeof(float);
  }
  [[nodiscard]] std::size_t capacity(std::size_t wanted) const override { return wanted; }

  [[nodiscard]] std::vector<std::byte> pack(const PreparedLayer& layer) const override {
    const CpuLayer& packed = own(layer);
    MessageWriter message;
    message.reserve((packed.values.size() + packed.span.basis().size()) * sizeof(float) + packed.ranks.size() * 64 +
                    64);
    message.put(packed.ranks.size());
    message.put(packed.width);
    message.put(packed.d);
    message.put(packed.span.d);
    message.put_all(std::span(packed.moments));
    message.put_all(std::span(packed.ranks));
    message.put_all(packed.values.values());
    message.put_all(packed.span.basis());
    return std::move(message).release();
  }

  [[nodiscard]] std::unique_ptr<PreparedLayer> unpack(std::span<const std::byte> bytes) const override {
    MessageReader message(bytes);
    auto layer = std::make_unique<CpuLayer>();
    const auto heads = message.take<std::size_t>();
    layer->width = message.take<std::size_t>();
    layer->d = message.take<std::size_t>();
    layer->span.d = message.take<std::size_t>();
    layer->span.rank = layer->span.d > 0 ? layer->d : 0;
    const std::size_t basis = layer->span.rank * layer->span.d;
    const std::size_t descriptions = sizeof(GramMoments) + sizeof(std::size_t);
    if (heads > bytes.size() / descriptions ||
        message.remaining() !=
            heads * (descriptions + layer->width * layer->d * sizeof(float)) + basis * sizeof(float)) {
      throw Error(ErrorKind::kBackend,
                  fmt::format("message: a prepared layer of {} heads of {} x {} does not match its {} bytes", heads,
                              layer->d, layer->width, bytes.size()));
    }
    layer->moments.resize(heads);
    layer->ranks.resize(heads);
    layer->values = Buffer<float>(heads * layer->width * layer->d);
    message.take_all(std::span(layer->moments));
    message.take_all(std::span(layer->ranks));
    message.take_all(layer->values.values());
    layer->span.vectors = Buffer<float>(basis);
    message.take_all(layer->span.vectors.values());
    return layer;
  }

  [[nodiscard]] std::string name() const override { return "cpu"; }

 private:
  // In the narrower of the two spans.
  void compute_in_span(const CpuLayer& source, const CpuLayer& target, const LayerBlock& block) const {
    const bool on_target = source.span.empty() || (!target.span.empty() && target.span.rank <= source.span.rank);
    const CpuLayer& other = on_target ? source : target;
    const JointSpan& span = on_target ? target.span : source.span;
    const Buffer<float> moved = projected(other, span);
    const FactorStack stack{moved.data(), other.ranks.size(), other.width, span.rank};
    norms_->compute(on_target ? stack : source.stack(), on_target ? target.stack() : stack, block.out,
                    block.out_stride);
  }

  std::unique_ptr<BlockNorms> norms_ = cpu_block_norms();
};

}  // namespace

std::unique_ptr<AffinityEngine> cpu_affinity_engine() {
  return std::make_unique<CpuAffinityEngine>();
}

}  // namespace headscope
