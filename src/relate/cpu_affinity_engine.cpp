#include <fmt/format.h>

#include <utility>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/message.h"
#include "headscope/linalg/block_norms.h"
#include "headscope/relate/affinity_engine.h"
#include "relate/head_factors.h"

namespace headscope {
namespace {

struct CpuLayer final : PreparedLayer {
  std::size_t width = 0;
  std::size_t d = 0;
  Buffer<float> values;  // [head][column][d]

  [[nodiscard]] FactorStack stack() const noexcept { return {values.data(), ranks.size(), width, d}; }
};

const CpuLayer& own(const PreparedLayer& layer) {
  return static_cast<const CpuLayer&>(layer);  // an engine only gets layers that it made
}

class CpuAffinityEngine final : public AffinityEngine {
 public:
  [[nodiscard]] std::unique_ptr<PreparedLayer> prepare(const FactorWeights& weights) const override {
    LayerFactors factors = prepare_factors(weights);
    auto layer = std::make_unique<CpuLayer>();
    layer->moments = std::move(factors.moments);
    layer->ranks = std::move(factors.ranks);
    layer->width = weights.outer.d_head();
    layer->d = weights.outer.d_model();
    layer->values = std::move(factors.values);
    return layer;
  }

  void compute(std::span<const LayerBlock> blocks) const override {
    std::vector<NormBlock> products;
    products.reserve(blocks.size());
    for (const LayerBlock& block : blocks) {
      products.push_back({own(*block.source).stack(), own(*block.target).stack(), block.out, block.out_stride});
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
    message.reserve(packed.values.size() * sizeof(float) + packed.ranks.size() * 64 + 64);
    message.put(packed.ranks.size());
    message.put(packed.width);
    message.put(packed.d);
    message.put_all(std::span(packed.moments));
    message.put_all(std::span(packed.ranks));
    message.put_all(packed.values.values());
    return std::move(message).release();
  }

  [[nodiscard]] std::unique_ptr<PreparedLayer> unpack(std::span<const std::byte> bytes) const override {
    MessageReader message(bytes);
    auto layer = std::make_unique<CpuLayer>();
    const auto heads = message.take<std::size_t>();
    layer->width = message.take<std::size_t>();
    layer->d = message.take<std::size_t>();
    const std::size_t descriptions = sizeof(GramMoments) + sizeof(std::size_t);
    if (heads > bytes.size() / descriptions ||
        message.remaining() != heads * (descriptions + layer->width * layer->d * sizeof(float))) {
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
    return layer;
  }

  [[nodiscard]] std::string name() const override { return "cpu"; }

 private:
  std::unique_ptr<BlockNorms> norms_ = cpu_block_norms();
};

}  // namespace

std::unique_ptr<AffinityEngine> cpu_affinity_engine() {
  return std::make_unique<CpuAffinityEngine>();
}

}  // namespace headscope
