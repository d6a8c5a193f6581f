#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace headscope {

/// A partition tree on the set {0, ..., n-1}: level 0 (the root) is the whole
/// set as one folder, every level is a partition of the set that strictly
/// refines the level above it, and the folders of the last level are single
/// elements. (OA: Fasina, Pohle, Su, Coifman, arXiv 2506.15541.)
///
/// "Strictly" means that a level is never the same as the one above, so there
/// are at most n levels and the tree of one element has one level, root and
/// leaf at once. A folder may stay whole from one level to the next as long as
/// another one is cut.
///
/// There is one form of every tree: the children of a folder stand side by
/// side, ordered by their smallest elements, and a level lists the children of
/// the first folder above, then those of the second, and so on. Every folder is
/// therefore a run of `order()`, and that is all that is stored: n elements and
/// five numbers a folder.
///
/// Values are immutable and share their storage: a copy costs a counter.
class PartitionTree {
 public:
  /// The folders of one level, each by its elements, as a tree is given to the constructor.
  using Level = std::vector<std::vector<std::size_t>>;

  /// Where a folder lies and how it hangs in the tree. Folders are counted within their level.
  struct Folder {
    std::size_t begin = 0;           ///< It holds order()[begin] ...
    std::size_t end = 0;             ///< ... up to, not including, order()[end].
    std::size_t parent = 0;          ///< In the level above; 0 for the root.
    std::size_t children_begin = 0;  ///< In the level below; no children in the last level.
    std::size_t children_end = 0;

    [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
    [[nodiscard]] std::size_t child_count() const noexcept { return children_end - children_begin; }
    [[nodiscard]] bool operator==(const Folder&) const noexcept = default;
  };

  /// From the levels, root first; folders and elements in any order. n is the size of the root. O(total elements +
  /// folders * log(folders)).
  ///
  /// \throws Error  kInvalidArgument, naming level, folder and element (as they are numbered in `levels`), if this is
  ///                not such a tree: no levels; a level 0 of several folders; an empty folder; an element that is not
  ///                below n, stands twice in a level or is missing from it; a folder that joins elements the level
  ///                above has apart; a level equal to the one above; a last level with a folder of several elements.
  explicit PartitionTree(std::span<const Level> levels);

  // Copies only, also where a move is asked for: no tree is ever left without storage.
  PartitionTree(const PartitionTree&) noexcept = default;
  PartitionTree& operator=(const PartitionTree&) noexcept = default;
  ~PartitionTree() = default;

  /// n.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] std::size_t level_count() const noexcept;
  /// Of all levels together.
  [[nodiscard]] std::size_t folder_count() const noexcept;

  /// The elements as the last level has them. Like all spans given out here, it is valid while any copy of this tree
  /// is.
  [[nodiscard]] std::span<const std::size_t> order() const noexcept;
  /// The folders of a level, which must be below `level_count()`. Their runs follow each other without a gap.
  [[nodiscard]] std::span<const Folder> folders(std::size_t level) const noexcept;
  /// The elements of a folder of this tree, in the order of `order()`: ascending within a folder that is only ever
  /// cut into single elements, not in general.
  [[nodiscard]] std::span<const std::size_t> elements(const Folder& folder) const noexcept;

  /// Whether the levels are the same partitions.
  [[nodiscard]] friend bool operator==(const PartitionTree& a, const PartitionTree& b) noexcept { return a.equals(b); }

 private:
  struct Storage;
  [[nodiscard]] bool equals(const PartitionTree& other) const noexcept;

  std::shared_ptr<const Storage> storage_;
};

}  // namespace headscope
