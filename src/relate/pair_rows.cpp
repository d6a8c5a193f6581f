#include "relate/pair_rows.h"

#include <algorithm>
#include <limits>

#include "headscope/base/message.h"

namespace headscope {
namespace {

constexpr float kNotComputed = std::numeric_limits<float>::quiet_NaN();

Role role_of(const Affinities& result, Side side) {
  return side == Side::kSource ? result.pair.source : result.pair.target;
}

}  // namespace

PairRows::PairRows(Affinities& result, const HeadSizes& sizes, const HeadSelection& selection, Ranks& ranks,
                   FinishedBlocks* finished)
    : result_(&result),
      selection_(&selection),
      ranks_(&ranks),
      finished_(finished),
      has_moments_(!info(result.metric).angles()) {
  for (const Side side : {Side::kSource, Side::kTarget}) {
    const Role role = role_of(result, side);
    const bool key_value = !info(result.metric).by_query_head() && is_key_value(role) && sizes.kv_heads != sizes.heads;
    AffinitySide& described = at(side);
    for (std::size_t i = 0; i < layers(); ++i) {
      for (const std::size_t head : heads(side).of(i)) {
        described.heads.push_back(sizes.head_of(selection.layers()[i], head, key_value));
      }
    }
    described.ranks.resize(described.heads.size());
    if (has_moments_) described.moments.resize(described.heads.size());
    described_[static_cast<std::size_t>(side)].resize(layers());
  }
  std::size_t rows = 0;
  for (std::size_t i = 0; i < layers(); ++i) {
    own_before_.push_back(rows);
    if (is_own(i)) rows += heads(Side::kSource).of(i).size();
  }
  Matrix& values = ranks_->is_root() ? result.values : own_;
  values = Matrix(ranks_->is_root() ? result.source.heads.size() : rows, result.target.heads.size());
  std::ranges::fill(values.values(), kNotComputed);
}

const LayerHeads& PairRows::heads(Side side) const noexcept {
  return selection_->heads(!info(result_->metric).by_query_head() && is_key_value(role_of(*result_, side)));
}

std::size_t PairRows::first_row(std::size_t source) const noexcept {
  return ranks_->is_root() ? heads(Side::kSource).before(source) : own_before_[source];
}

MatrixSpan PairRows::block(std::size_t source, std::size_t target) {
  const LayerHeads& columns = heads(Side::kTarget);
  Matrix& values = ranks_->is_root() ? result_->values : own_;
  return values.span().block(first_row(source), heads(Side::kSource).of(source).size(), columns.before(target),
                             columns.of(target).size());
}

BlockId PairRows::id(std::size_t source, std::size_t target) const {
  return {result_->metric, result_->pair.source, result_->pair.target, selection_->layers()[source],
          selection_->layers()[target]};
}

SideId PairRows::id(Side side, std::size_t layer) const {
  return {result_->metric, role_of(*result_, side), side == Side::kTarget, selection_->layers()[layer]};
}

bool PairRows::restore(std::size_t source, std::size_t target) {
  return finished_ != nullptr && finished_->restore(id(source, target), block(source, target));
}

void PairRows::keep(std::size_t source, std::size_t target) {
  if (finished_ != nullptr) finished_->keep(id(source, target), block(source, target).view());
}

std::span<GramMoments> PairRows::moments(Side side, std::size_t layer) const {
  if (!has_moments_) return {};
  return std::span(at(side).moments).subspan(heads(side).before(layer), heads(side).of(layer).size());
}

std::span<std::size_t> PairRows::ranks(Side side, std::size_t layer) const {
  return std::span(at(side).ranks).subspan(heads(side).before(layer), heads(side).of(layer).size());
}

bool PairRows::is_described(Side side, std::size_t layer) {
  if (heads(side).of(layer).empty()) return true;
  std::vector<bool>& described = described_[static_cast<std::size_t>(side)];
  if (!described[layer] && finished_ != nullptr) {
    described[layer] = finished_->restore(id(side, layer), moments(side, layer), ranks(side, layer));
  }
  return described[layer];
}

void PairRows::describe(Side side, std::size_t layer, std::span<const GramMoments> moments_of_heads,
                        std::span<const std::size_t> ranks_of_heads) {
  std::vector<bool>& described = described_[static_cast<std::size_t>(side)];
  if (described[layer]) return;
  if (has_moments_) std::ranges::copy(moments_of_heads, moments(side, layer).begin());
  std::ranges::copy(ranks_of_heads, ranks(side, layer).begin());
  described[layer] = true;
  if (finished_ != nullptr) finished_->keep(id(side, layer), moments(side, layer), ranks(side, layer));
}

void PairRows::gather() {
  if (ranks_->size() == 1) return;
  MessageWriter message;
  if (!ranks_->is_root()) {
    for (const Side side : {Side::kSource, Side::kTarget}) {
      for (const std::size_t layer : layers_of(ranks_->rank(), ranks_->size(), layers())) {
        message.put_all(std::span<const GramMoments>(moments(side, layer)));
        message.put_all(std::span<const std::size_t>(ranks(side, layer)));
      }
    }
    message.put_all(std::as_const(own_).values());
    own_ = {};
  }
  ranks_->gather(message.bytes(), [this](std::size_t from, std::span<const std::byte> bytes) { receive(from, bytes); });
}

void PairRows::receive(std::size_t from, std::span<const std::byte> bytes) {
  MessageReader message(bytes);
  for (const Side side : {Side::kSource, Side::kTarget}) {
    for (const std::size_t layer : layers_of(from, ranks_->size(), layers())) {
      message.take_all(moments(side, layer));
      message.take_all(ranks(side, layer));
    }
  }
  const LayerHeads& sources = heads(Side::kSource);
  for (const std::size_t layer : layers_of(from, ranks_->size(), layers())) {
    for (std::size_t i = sources.before(layer); i < sources.before(layer + 1); ++i) {
      message.take_all(result_->values.row(i));
    }
  }
}

}  // namespace headscope
