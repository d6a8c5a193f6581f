#include "tokenize/byte_trie.h"

#include <algorithm>
#include <utility>

namespace headscope {

ByteTrie::ByteTrie(const TokenTable& tokens) {
  std::vector<std::pair<std::string_view, std::uint32_t>> sorted;
  sorted.reserve(tokens.entries().size());
  for (const TokenTable::Entry& entry : tokens.entries()) {
    const std::string_view text = tokens.text(entry);
    if (!text.empty() && tokens.find(text) == entry.id) sorted.emplace_back(text, entry.id);
  }
  std::ranges::sort(sorted);

  // Built level by level, so that the children of a node are contiguous. Each node covers a range of `sorted` whose
  // texts agree in the first `depth` bytes.
  struct Range {
    std::size_t begin;
    std::size_t end;
  };
  std::vector<Range> level = {{0, sorted.size()}};
  std::size_t first = 0;  // node of level[0]
  for (std::size_t depth = 0; !level.empty(); ++depth) {
    std::vector<Range> below;
    const std::size_t first_below = nodes_.size();
    for (std::size_t i = 0; i < level.size(); ++i) {
      auto [begin, end] = level[i];
      if (begin < end && sorted[begin].first.size() == depth) nodes_[first + i].value = sorted[begin++].second;
      nodes_[first + i].first_child = static_cast<std::uint32_t>(nodes_.size());
      while (begin < end) {
        const char label = sorted[begin].first[depth];
        const std::size_t from = begin;
        while (begin < end && sorted[begin].first[depth] == label) ++begin;
        nodes_.push_back({0, kNoValue, 0, static_cast<unsigned char>(label)});
        below.push_back({from, begin});
        ++nodes_[first + i].children;
      }
    }
    first = first_below;
    level = std::move(below);
  }
  for (std::uint32_t i = 0; i < nodes_[kRoot].children; ++i) {
    const Node child = nodes_[kRoot].first_child + i;
    from_root_[nodes_[child].label] = child;
  }
}

ByteTrie::Node ByteTrie::next(Node node, char byte) const noexcept {
  const auto label = static_cast<unsigned char>(byte);
  if (node == kRoot) return from_root_[label];
  const Item* const begin = nodes_.data() + nodes_[node].first_child;
  const Item* const end = begin + nodes_[node].children;
  const Item* const found =
      std::lower_bound(begin, end, label, [](const Item& item, unsigned char wanted) { return item.label < wanted; });
  if (found == end || found->label != label) return kNone;
  return static_cast<Node>(found - nodes_.data());
}

ByteTrie::Node ByteTrie::walk(std::string_view text) const noexcept {
  Node node = kRoot;
  for (const char c : text) {
    node = next(node, c);
    if (node == kNone) break;
  }
  return node;
}

}  // namespace headscope
