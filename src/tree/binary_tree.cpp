#include "headscope/tree/binary_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "tree/diffusion.h"

namespace headscope {
namespace {

using Elements = std::vector<std::size_t>;

DoubleMatrix submatrix(const DoubleMatrix& affinity, std::span<const std::size_t> elements) {
  DoubleMatrix result(elements.size(), elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    for (std::size_t j = 0; j < elements.size(); ++j) result(i, j) = affinity(elements[i], elements[j]);
  }
  return result;
}

// Cuts a folder of at least two elements into two nonempty sides. `elements` must be ascending; so are the sides.
std::pair<Elements, Elements> cut(const DoubleMatrix& affinity, const Elements& elements, double balance) {
  const std::size_t m = elements.size();
  std::vector<double> psi = leading_mode(submatrix(affinity, elements));
  round_to_largest(psi);
  std::vector<std::size_t> by_psi(m);
  std::iota(by_psi.begin(), by_psi.end(), std::size_t{0});
  std::stable_sort(by_psi.begin(), by_psi.end(), [&](std::size_t a, std::size_t b) { return psi[a] > psi[b]; });

  const auto positive = static_cast<std::size_t>(std::count_if(psi.begin(), psi.end(), [](double x) { return x > 0; }));
  const auto share = static_cast<std::size_t>(static_cast<double>(m) / (1 + balance));
  const std::size_t smallest_side = std::max<std::size_t>(1, share);
  const std::size_t taken = std::clamp(positive, smallest_side, m - smallest_side);

  std::pair<Elements, Elements> sides;
  for (std::size_t i = 0; i < m; ++i) (i < taken ? sides.first : sides.second).push_back(elements[by_psi[i]]);
  std::sort(sides.first.begin(), sides.first.end());
  std::sort(sides.second.begin(), sides.second.end());
  return sides;
}

}  // namespace

PartitionTree binary_tree(const DoubleMatrix& affinity, const BinaryTreeOptions& options) {
  if (!(options.balance >= 1)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("binary_tree: balance is {}, expected at least 1", options.balance));
  }
  check_affinity(affinity, "binary_tree");

  Elements everything(affinity.rows());
  std::iota(everything.begin(), everything.end(), std::size_t{0});
  std::vector<PartitionTree::Level> levels = {{everything}};
  while (levels.back().size() < affinity.rows()) {
    const PartitionTree::Level& above = levels.back();
    std::vector<std::pair<Elements, Elements>> sides(above.size());
    parallel_for(above.size(), [&](std::size_t f) {
      sides[f] = above[f].size() == 1 ? std::pair(above[f], Elements()) : cut(affinity, above[f], options.balance);
    });
    PartitionTree::Level level;
    for (auto& [one, other] : sides) {
      level.push_back(std::move(one));
      if (!other.empty()) level.push_back(std::move(other));
    }
    levels.push_back(std::move(level));
  }
  return PartitionTree(levels);
}

}  // namespace headscope
