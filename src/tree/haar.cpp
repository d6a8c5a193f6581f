#include "headscope/tree/haar.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace headscope {
namespace {

using Folder = PartitionTree::Folder;

// A contrast during the walk from the leaves up.
struct Contrast {
  HaarBasis::Reflection reflection;  // between elements, not yet positions
  std::size_t begin;                 // of the folder, in the tree's order
  std::size_t end;
  std::size_t support;
};

// Indices of the children by descending size, ties in the order of the tree.
std::vector<std::size_t> by_size(std::span<const Folder> children) {
  std::vector<std::size_t> order(children.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return children[a].size() > children[b].size(); });
  return order;
}

// Appends the contrasts of one folder, smallest support first. `slots` holds, for each child, the element at whose
// position the child is represented; returns that element for the folder.
std::size_t contrast_children(std::span<const Folder> children, std::span<const std::size_t> slots,
                              std::vector<Contrast>& contrasts) {
  const std::vector<std::size_t> order = by_size(children);
  std::size_t later = slots[order.back()];
  std::size_t later_size = children[order.back()].size();
  for (std::size_t i = order.size() - 1; i-- > 0;) {
    const std::size_t size = children[order[i]].size();
    const auto total = static_cast<double>(size + later_size);
    const std::size_t slot = slots[order[i]];
    contrasts.push_back(
        {{static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(later),
          std::sqrt(static_cast<double>(size) / total), std::sqrt(static_cast<double>(later_size) / total)},
         children.front().begin,
         children.back().end,
         size + later_size});
    later = slot;
    later_size += size;
  }
  return later;
}

}  // namespace

HaarBasis::HaarBasis(const PartitionTree& tree) : place_(tree.size()), volumes_(tree.size()), supports_(tree.size()) {
  const std::size_t n = tree.size();
  // slots[f]: the element at whose position folder f of the current level is represented.
  std::vector<std::size_t> slots(tree.order().begin(), tree.order().end());
  std::vector<Contrast> contrasts;
  contrasts.reserve(n - 1);
  // From the leaves up, folders of a level last to first: in reverse, the list starts with the root.
  for (std::size_t level = tree.level_count() - 1; level-- > 0;) {
    const auto folders = tree.folders(level);
    const auto below = tree.folders(level + 1);
    std::vector<std::size_t> above(folders.size());
    for (std::size_t f = folders.size(); f-- > 0;) {
      const auto children = below.subspan(folders[f].children_begin, folders[f].child_count());
      const auto child_slots = std::span(slots).subspan(folders[f].children_begin, folders[f].child_count());
      above[f] = children.size() == 1 ? child_slots[0] : contrast_children(children, child_slots, contrasts);
    }
    slots = std::move(above);
  }
  assert(contrasts.size() == n - 1);

  // Coefficient k > 0 is contrast n - 1 - k of the list: root first, and within a folder the largest child first.
  place_[slots[0]] = 0;
  volumes_[0] = supports_[0] = 1;
  for (std::size_t k = 1; k < n; ++k) {
    const Contrast& contrast = contrasts[n - 1 - k];
    place_[contrast.reflection.left] = static_cast<std::uint32_t>(k);
    volumes_[k] = static_cast<double>(contrast.end - contrast.begin) / static_cast<double>(n);
    supports_[k] = static_cast<double>(contrast.support) / static_cast<double>(n);
  }
  // Folder by folder, each right after those inside it: recent results are still in cache.
  std::stable_sort(contrasts.begin(), contrasts.end(), [](const Contrast& a, const Contrast& b) {
    return a.end != b.end ? a.end < b.end : a.begin > b.begin;
  });
  for (Contrast& contrast : contrasts) {
    contrast.reflection.kept = place_[contrast.reflection.kept];
    contrast.reflection.left = place_[contrast.reflection.left];
    reflections_.push_back(contrast.reflection);
  }
}

std::vector<double> HaarBasis::forward(std::span<const double> values) const {
  assert(values.size() == size());
  std::vector<double> result(size());
  for (std::size_t i = 0; i < size(); ++i) result[place_[i]] = values[i];
  for (const Reflection& r : reflections_) {
    const double x = result[r.kept];
    const double y = result[r.left];
    result[r.kept] = r.a * x + r.b * y;
    result[r.left] = r.b * x - r.a * y;
  }
  return result;
}

std::vector<double> HaarBasis::inverse(std::span<const double> coefficients) const {
  assert(coefficients.size() == size());
  std::vector<double> work(coefficients.begin(), coefficients.end());
  for (auto r = reflections_.rbegin(); r != reflections_.rend(); ++r) {
    const double x = work[r->kept];
    const double y = work[r->left];
    work[r->kept] = r->a * x + r->b * y;
    work[r->left] = r->b * x - r->a * y;
  }
  std::vector<double> result(size());
  for (std::size_t i = 0; i < size(); ++i) result[i] = work[place_[i]];
  return result;
}

}  // namespace headscope
