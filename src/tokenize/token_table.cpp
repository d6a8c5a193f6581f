#include "tokenize/token_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

#include "headscope/base/error.h"

namespace headscope {
namespace {

std::uint64_t mixed(std::uint64_t key) noexcept {
  key *= 0x9E3779B97F4A7C15;
  return key ^ key >> 32;
}

}  // namespace

std::size_t TokenTable::slot_of(std::string_view text) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = std::hash<std::string_view>()(text) & mask;
  while (slots_[slot] != 0 && this->text(entries_[slots_[slot] - 1]) != text) slot = (slot + 1) & mask;
  return slot;
}

void TokenTable::grow() {
  std::vector<std::uint32_t> old = std::move(slots_);
  slots_.assign(std::max<std::size_t>(16, old.size() * 2), 0);
  for (const std::uint32_t index : old) {
    if (index != 0) slots_[slot_of(text(entries_[index - 1]))] = index;
  }
}

void TokenTable::add(std::string_view text, std::uint32_t id) {
  if ((used_ + 1) * 2 > slots_.size()) grow();
  entries_.push_back({texts_.size(), static_cast<std::uint32_t>(text.size()), id});
  texts_.append(text);
  std::uint32_t& slot = slots_[slot_of(text)];
  if (slot == 0) ++used_;
  slot = static_cast<std::uint32_t>(entries_.size());
  longest_ = std::max(longest_, text.size());
}

void TokenTable::finish(std::string_view where) {
  by_id_.resize(entries_.size());
  std::iota(by_id_.begin(), by_id_.end(), 0U);
  const auto id_of = [this](std::uint32_t index) { return entries_[index].id; };
  std::ranges::stable_sort(by_id_, {}, id_of);
  const auto twice = std::ranges::adjacent_find(by_id_, {}, id_of);
  if (twice == by_id_.end()) return;
  throw Error(ErrorKind::kFormat,
              fmt::format("{}: duplicate id {} for tokens '{}' and '{}'", where, id_of(*twice),
                          printable(text(entries_[*twice]), 60), printable(text(entries_[*(twice + 1)]), 60)));
}

std::optional<std::uint32_t> TokenTable::find(std::string_view text) const noexcept {
  if (slots_.empty() || text.size() > longest_) return std::nullopt;
  const std::uint32_t index = slots_[slot_of(text)];
  if (index == 0) return std::nullopt;
  return entries_[index - 1].id;
}

std::string_view TokenTable::text(std::uint32_t id) const noexcept {
  // Fast path: most vocabularies have no gaps.
  if (id < by_id_.size() && entries_[by_id_[id]].id == id) return text(entries_[by_id_[id]]);
  const auto found =
      std::ranges::lower_bound(by_id_, id, {}, [this](std::uint32_t index) { return entries_[index].id; });
  if (found == by_id_.end() || entries_[*found].id != id) return {};
  return text(entries_[*found]);
}

MergeTable::MergeTable(std::size_t expected) : slots_(std::bit_ceil(std::max<std::size_t>(16, expected * 2))) {}

std::size_t MergeTable::slot_of(std::uint64_t key) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = mixed(key) & mask;
  while (slots_[slot].key != kEmpty && slots_[slot].key != key) slot = (slot + 1) & mask;
  return slot;
}

void MergeTable::set(std::uint32_t left, std::uint32_t right, Merge merge) {
  if ((used_ + 1) * 2 > slots_.size()) {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) slots_[slot_of(slot.key)] = slot;
    }
  }
  const std::uint64_t key = std::uint64_t{left} << 32 | right;
  Slot& slot = slots_[slot_of(key)];
  if (slot.key == kEmpty) ++used_;
  slot = {key, merge};
}

const MergeTable::Merge* MergeTable::find(std::uint32_t left, std::uint32_t right) const noexcept {
  const Slot& slot = slots_[slot_of(std::uint64_t{left} << 32 | right)];
  return slot.key == kEmpty ? nullptr : &slot.merge;
}

}  // namespace headscope
