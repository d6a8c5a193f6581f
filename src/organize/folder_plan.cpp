#include "organize/folder_plan.h"

#include <algorithm>
#include <cassert>

namespace headscope {
namespace {

std::vector<std::vector<std::size_t>> children_of(std::span<const WeightedFolder> folders) {
  std::vector<std::vector<std::size_t>> children(folders.size());
  for (std::size_t f = 0; f + 1 < folders.size(); ++f) children[folders[f].parent].push_back(f);
  return children;
}

// A multiple of 12, so that 2, 3, 4, 6 or 12 ranks share the blocks evenly, unless the blocks would be tiny.
std::size_t block_count(std::size_t folders, std::size_t most) {
  constexpr std::size_t kEven = 12;
  constexpr std::size_t kSmallest = 8;
  if (folders < kEven * kSmallest) return std::max<std::size_t>(1, folders / kSmallest);
  return (folders + kEven * most - 1) / (kEven * most) * kEven;
}

}  // namespace

std::vector<FolderBlock> folder_blocks(const PartitionTree& tree, std::span<const WeightedFolder> folders,
                                       std::size_t most) {
  const auto children = children_of(folders);
  const std::size_t blocks = block_count(folders.size(), most);
  std::vector<FolderBlock> result(blocks);
  for (std::size_t b = 0; b < blocks; ++b) {
    FolderBlock& block = result[b];
    block.begin = b * folders.size() / blocks;
    block.count = (b + 1) * folders.size() / blocks - block.begin;
    for (std::size_t slot = 0; slot < block.count; ++slot) {
      const std::size_t f = block.begin + slot;
      const auto add = [&](std::size_t from, bool from_out) {
        block.steps.push_back({static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(from), from_out});
      };
      const auto add_elements = [&](const WeightedFolder& folder) {
        for (std::size_t i = folder.begin; i < folder.end; ++i) add(tree.order()[i], false);
      };
      if (children[f].empty()) add_elements(folders[f]);
      for (const std::size_t child : children[f]) {
        if (child >= block.begin) {
          add(child - block.begin, true);
        } else {
          add_elements(folders[child]);
        }
      }
    }
  }
  return result;
}

FolderWalk folder_walk(const PartitionTree& tree, std::span<const WeightedFolder> folders) {
  FolderWalk walk;
  std::vector<std::size_t> stack;  // folders with a running sum
  for (std::size_t f = 0; f < folders.size(); ++f) {
    FolderVisit visit;
    visit.leaf = folders[f].size() == 1;
    visit.root = f + 1 == folders.size();
    if (visit.leaf) {
      visit.element = tree.order()[folders[f].begin];
    } else {
      assert(!stack.empty() && stack.back() == f);
      visit.slot = stack.size() - 1;
      stack.pop_back();
    }
    if (!visit.root) {
      visit.first = stack.empty() || stack.back() != folders[f].parent;
      if (visit.first) stack.push_back(folders[f].parent);
      visit.into = stack.size() - 1;
    }
    walk.depth = std::max(walk.depth, stack.size() + 1);
    walk.visits.push_back(visit);
  }
  return walk;
}

}  // namespace headscope
