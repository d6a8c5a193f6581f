#include "headscope/relate/finished_blocks.h"

#include <string>

#include "headscope/base/message.h"

namespace headscope {
namespace {

enum class Record : std::uint8_t { kBlock = 1, kSide = 2 };

std::string text(const MessageWriter& message) {
  return {reinterpret_cast<const char*>(message.bytes().data()), message.bytes().size()};
}

std::string key_of(const BlockId& id) {
  MessageWriter message;
  message.put(Record::kBlock);
  message.put(id.metric);
  message.put(id.source_role);
  message.put(id.target_role);
  message.put(id.source_layer);
  message.put(id.target_layer);
  return text(message);
}

std::string key_of(const SideId& id) {
  MessageWriter message;
  message.put(Record::kSide);
  message.put(id.metric);
  message.put(id.role);
  message.put(id.target);
  message.put(id.layer);
  return text(message);
}

}  // namespace

bool FinishedBlocks::has(const BlockId& id) const {
  return work_->find(key_of(id)).has_value();
}

bool FinishedBlocks::restore(const BlockId& id, MatrixSpan out) {
  const auto found = work_->find(key_of(id));
  if (!found) return false;
  MessageReader message(*found);
  if (message.remaining() < 2 * sizeof(std::size_t)) return false;
  const auto rows = message.take<std::size_t>();
  const auto columns = message.take<std::size_t>();
  if (rows != out.rows() || columns != out.columns() || message.remaining() != rows * columns * sizeof(float)) {
    return false;
  }
  for (std::size_t i = 0; i < rows; ++i) message.take_all(out.row(i));
  ++restored_;
  return true;
}

bool FinishedBlocks::restore(const SideId& id, std::span<GramMoments> moments, std::span<std::size_t> ranks) {
  const auto found = work_->find(key_of(id));
  if (!found || found->size() != moments.size_bytes() + ranks.size_bytes()) return false;
  MessageReader message(*found);
  message.take_all(moments);
  message.take_all(ranks);
  return true;
}

void FinishedBlocks::keep(const BlockId& id, MatrixView values) {
  MessageWriter message;
  message.reserve(2 * sizeof(std::size_t) + values.rows() * values.columns() * sizeof(float));
  message.put(values.rows());
  message.put(values.columns());
  for (std::size_t i = 0; i < values.rows(); ++i) {
    message.put_all(std::span(values.data() + i * values.row_stride(), values.columns()));
  }
  work_->keep(key_of(id), message.bytes());
}

void FinishedBlocks::keep(const SideId& id, std::span<const GramMoments> moments, std::span<const std::size_t> ranks) {
  MessageWriter message;
  message.put_all(moments);
  message.put_all(ranks);
  work_->keep(key_of(id), message.bytes());
}

}  // namespace headscope
