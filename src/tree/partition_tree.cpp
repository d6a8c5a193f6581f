#include "headscope/tree/partition_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <string>
#include <tuple>

#include "headscope/base/error.h"

namespace headscope {

struct PartitionTree::Storage {
  std::vector<std::size_t> order;
  std::vector<Folder> folders;              // folders of all levels, root first
  std::vector<std::size_t> level_begin{0};  // level k is folders [level_begin[k], level_begin[k + 1])

  [[nodiscard]] std::span<Folder> level(std::size_t k) {
    return std::span(folders).subspan(level_begin[k], level_begin[k + 1] - level_begin[k]);
  }
};

namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::kInvalidArgument, "partition tree: " + what);
}

// Returns, for every element, the index of the folder of `level` that contains it; checks that there is exactly one.
std::vector<std::size_t> owners(const PartitionTree::Level& level, std::size_t n, std::size_t number) {
  std::vector<std::size_t> owner(n, kNone);
  for (std::size_t f = 0; f < level.size(); ++f) {
    if (level[f].empty()) refuse(fmt::format("level {}, folder {} is empty", number, f));
    for (const std::size_t element : level[f]) {
      if (element >= n) {
        refuse(fmt::format("level {}, folder {} holds element {}, expected less than {}", number, f, element, n));
      }
      if (owner[element] != kNone) {
        refuse(fmt::format("level {}, folder {} holds element {}, which is already in folder {} of this level", number,
                           f, element, owner[element]));
      }
      owner[element] = f;
    }
  }
  const auto missing = std::find(owner.begin(), owner.end(), kNone);
  if (missing != owner.end()) {
    refuse(fmt::format("level {} lacks element {} of {}", number, missing - owner.begin(), n));
  }
  return owner;
}

void check_root(std::span<const PartitionTree::Level> levels) {
  if (levels.empty()) refuse("no levels");
  if (levels[0].size() != 1) {
    refuse(fmt::format("level 0 (the root) has {} folders, expected 1", levels[0].size()));
  }
}

// Checks that every folder is contained in one folder of the level above, and that at least one of those is cut.
void check_refines(const PartitionTree::Level& level, const PartitionTree::Level& above,
                   std::span<const std::size_t> owner_above, std::size_t number) {
  for (std::size_t f = 0; f < level.size(); ++f) {
    const std::size_t first = level[f].front();
    for (const std::size_t element : level[f]) {
      if (owner_above[element] == owner_above[first]) continue;
      refuse(fmt::format("level {}, folder {} holds elements {} and {}, which are in two folders of level {}", number,
                         f, first, element, number - 1));
    }
  }
  if (level.size() == above.size()) refuse(fmt::format("level {} is the same as level {}", number, number - 1));
}

void check_leaves(const PartitionTree::Level& level, std::size_t number) {
  for (std::size_t f = 0; f < level.size(); ++f) {
    if (level[f].size() == 1) continue;
    refuse(
        fmt::format("level {} is the last and its folder {} has {} elements, expected 1", number, f, level[f].size()));
  }
}

}  // namespace

PartitionTree::PartitionTree(std::span<const Level> levels) {
  check_root(levels);
  const std::size_t n = levels[0][0].size();
  auto storage = std::make_shared<Storage>();

  // For the level above: the folder that contains each element, as numbered in the input, and that folder's new index.
  std::vector<std::size_t> owner_above(n, 0);
  std::vector<std::size_t> place_above{0};
  for (std::size_t k = 0; k < levels.size(); ++k) {
    std::vector<std::size_t> owner = owners(levels[k], n, k);
    if (k > 0) check_refines(levels[k], levels[k - 1], owner_above, k);

    using Key = std::tuple<std::size_t, std::size_t, std::size_t>;  // parent's index, smallest element, own index
    std::vector<Key> keys;
    keys.reserve(levels[k].size());
    for (std::size_t f = 0; f < levels[k].size(); ++f) {
      const std::size_t smallest = *std::min_element(levels[k][f].begin(), levels[k][f].end());
      keys.emplace_back(place_above[owner_above[smallest]], smallest, f);
    }
    std::sort(keys.begin(), keys.end());

    std::vector<std::size_t> place(keys.size());
    std::size_t begin = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto [parent, smallest, f] = keys[i];
      const std::size_t end = begin + levels[k][f].size();
      storage->folders.push_back({begin, end, parent, 0, 0});
      begin = end;
      place[f] = i;
      if (k == 0) continue;
      Folder& above = storage->level(k - 1)[parent];
      if (above.children_end == 0) above.children_begin = i;
      above.children_end = i + 1;
    }
    storage->level_begin.push_back(storage->folders.size());
    owner_above = std::move(owner);
    place_above = std::move(place);
  }

  check_leaves(levels.back(), levels.size() - 1);
  storage->order.resize(n);
  for (std::size_t f = 0; f < n; ++f) storage->order[place_above[f]] = levels.back()[f].front();
  storage_ = std::move(storage);
}

std::size_t PartitionTree::size() const noexcept {
  return storage_->order.size();
}

std::size_t PartitionTree::level_count() const noexcept {
  return storage_->level_begin.size() - 1;
}

std::size_t PartitionTree::folder_count() const noexcept {
  return storage_->folders.size();
}

std::span<const std::size_t> PartitionTree::order() const noexcept {
  return storage_->order;
}

std::span<const PartitionTree::Folder> PartitionTree::folders(std::size_t level) const noexcept {
  assert(level < level_count());
  const std::size_t begin = storage_->level_begin[level];
  return std::span(storage_->folders).subspan(begin, storage_->level_begin[level + 1] - begin);
}

std::span<const std::size_t> PartitionTree::elements(const Folder& folder) const noexcept {
  assert(folder.begin <= folder.end && folder.end <= size());
  return order().subspan(folder.begin, folder.size());
}

bool PartitionTree::equals(const PartitionTree& other) const noexcept {
  if (storage_ == other.storage_) return true;
  return storage_->order == other.storage_->order && storage_->level_begin == other.storage_->level_begin &&
         storage_->folders == other.storage_->folders;
}

}  // namespace headscope
