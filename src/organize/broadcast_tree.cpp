#include "organize/broadcast_tree.h"

#include <cassert>
#include <span>
#include <utility>
#include <vector>

#include "headscope/base/message.h"

namespace headscope {
namespace {

// Format: the elements in order, then the end of each folder, by level.
std::vector<std::byte> pack(const PartitionTree& tree) {
  MessageWriter message;
  message.put(tree.size());
  message.put_all(tree.order());
  for (std::size_t level = 0; level < tree.level_count(); ++level) {
    message.put(tree.folders(level).size());
    for (const PartitionTree::Folder& folder : tree.folders(level)) message.put(folder.end);
  }
  return std::move(message).release();
}

PartitionTree unpack(std::span<const std::byte> bytes) {
  MessageReader message(bytes);
  std::vector<std::size_t> order(message.take<std::size_t>());
  message.take_all(std::span(order));
  std::vector<PartitionTree::Level> levels;
  while (message.remaining() > 0) {
    PartitionTree::Level& level = levels.emplace_back(message.take<std::size_t>());
    std::size_t begin = 0;
    for (std::vector<std::size_t>& folder : level) {
      const auto end = message.take<std::size_t>();
      const auto elements = std::span(order).subspan(begin, end - begin);
      folder.assign(elements.begin(), elements.end());
      begin = end;
    }
  }
  return PartitionTree(levels);
}

}  // namespace

PartitionTree broadcast_tree(Ranks& ranks, std::size_t maker, const std::optional<PartitionTree>& made) {
  if (ranks.rank() != maker) return unpack(ranks.receive(maker));
  assert(made);
  const std::vector<std::byte> bytes = pack(*made);
  for (std::size_t to = 0; to < ranks.size(); ++to) {
    if (to != maker) ranks.send(to, bytes);
  }
  return *made;
}

}  // namespace headscope
