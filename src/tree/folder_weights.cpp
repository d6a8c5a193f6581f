#include "headscope/tree/folder_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headscope/base/error.h"

namespace headscope {
namespace {

// Distinct folders, each after the folder that contains it.
std::vector<WeightedFolder> from_the_root_down(const PartitionTree& tree, const FolderWeightOptions& options) {
  std::vector<WeightedFolder> distinct;
  std::vector<std::size_t> above;  // index in `distinct` of each folder of the level above
  const auto n = static_cast<double>(tree.size());
  for (std::size_t level = 0; level < tree.level_count(); ++level) {
    const double of_level = std::exp2(-static_cast<double>(level) * options.alpha);
    std::vector<std::size_t> here;
    for (const PartitionTree::Folder& folder : tree.folders(level)) {
      const bool is_root = level == 0;
      const bool stayed_whole = !is_root && tree.folders(level - 1)[folder.parent].child_count() == 1;
      if (stayed_whole) {
        here.push_back(above[folder.parent]);
      } else {
        here.push_back(distinct.size());
        distinct.push_back({folder.begin, folder.end, is_root ? 0 : above[folder.parent], 0});
      }
      distinct[here.back()].weight += std::pow(static_cast<double>(folder.size()) / n, options.beta) * of_level;
    }
    above = std::move(here);
  }
  return distinct;
}

}  // namespace

std::vector<WeightedFolder> weighted_folders(const PartitionTree& tree, const FolderWeightOptions& options) {
  if (!std::isfinite(options.alpha) || !std::isfinite(options.beta)) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("tree distance: alpha is {} and beta is {}, expected finite numbers", options.alpha, options.beta));
  }
  const std::vector<WeightedFolder> distinct = from_the_root_down(tree, options);
  std::vector<std::vector<std::size_t>> children(distinct.size());
  for (std::size_t f = 1; f < distinct.size(); ++f) children[distinct[f].parent].push_back(f);
  for (auto& list : children) {
    std::stable_sort(list.begin(), list.end(),
                     [&](std::size_t a, std::size_t b) { return distinct[a].size() > distinct[b].size(); });
  }

  // Post-order: a folder is listed on the second visit, after its children.
  std::vector<WeightedFolder> listed;
  std::vector<std::size_t> place(distinct.size());
  std::vector<std::size_t> open = {0};
  std::vector<bool> entered(distinct.size(), false);
  while (!open.empty()) {
    const std::size_t f = open.back();
    if (!entered[f]) {
      entered[f] = true;
      open.insert(open.end(), children[f].rbegin(), children[f].rend());
      continue;
    }
    open.pop_back();
    place[f] = listed.size();
    listed.push_back(distinct[f]);
  }
  for (WeightedFolder& folder : listed) folder.parent = place[folder.parent];
  return listed;
}

double total_weight(std::span<const WeightedFolder> folders) noexcept {
  double sum = 0;
  for (const WeightedFolder& folder : folders) sum += folder.weight;
  return sum;
}

}  // namespace headscope
