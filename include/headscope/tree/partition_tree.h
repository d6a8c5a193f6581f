#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace headscope {

/// A partition tree on the set {0, ..., n-1}: level 0 (the root) is the whole set as one folder, every level is a
/// partition of the set that strictly refines the level above it, and the folders of the last level are single
/// elements. (OA: Fasina, Pohle, Su, Coifman, arXiv 2506.15541.)
///
/// "Strictly" means that a level is never equal to the one above, so there are at most n levels, and the tree of one
/// element has one level that is both root and leaf. A folder may stay whole from one level to the next as long as
/// another one is cut.
///
/// The representation is canonical: the children of a folder are adjacent, ordered by their smallest elements, and a
/// level lists the children of the first folder above, then those of the second, and so on. Every folder is therefore a
/// contiguous range of `order()`, and the tree stores only n elements and five numbers per folder.
///
/// Immutable; copies share their storage, so a copy costs one reference count.
class PartitionTree {
 public:
  /// The folders of one level, each as a list of elements: the input format of the constructor.
  using Level = std::vector<std::vector<std::size_t>>;

  /// A folder's range and its position in the tree. Folders are numbered within their level.
  struct Folder {
    std::size_t begin = 0;           ///< The folder is order()[begin] ...
    std::size_t end = 0;             ///< ... up to but not including order()[end].
    std::size_t parent = 0;          ///< In the level above; 0 for the root.
    std::size_t children_begin = 0;  ///< In the level below; no children in the last level.
    std::size_t children_end = 0;

    [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
    [[nodiscard]] std::size_t child_count() const noexcept { return children_end - children_begin; }
    [[nodiscard]] bool operator==(const Folder&) const noexcept = default;
  };

  /// Builds a tree from its levels, root first; folders and elements may be in any order. n is the size of the root.
  /// O(total elements + folders * log(folders)).
  ///
  /// \throws Error  kInvalidArgument, naming level, folder and element (as numbered in `levels`), if this is not a
  ///                partition tree: no levels; more than one folder on level 0; an empty folder; an element that is not
  ///                below n, duplicated in a level or missing from it; a folder that joins elements that are separate
  ///                on the level above; a level equal to the one above; a last level with a folder of several elements.
  explicit PartitionTree(std::span<const Level> levels);

  // Copyable but not movable (a move copies), so that no tree is ever left without storage.
  PartitionTree(const PartitionTree&) noexcept = default;
  PartitionTree& operator=(const PartitionTree&) noexcept = default;
  ~PartitionTree() = default;

  /// The number of elements, n.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] std::size_t level_count() const noexcept;
  /// Over all levels.
  [[nodiscard]] std::size_t folder_count() const noexcept;

  /// The elements in the order of the last level. Like all spans returned by this class, it is valid as long as any
  /// copy of this tree exists.
  [[nodiscard]] std::span<const std::size_t> order() const noexcept;
  /// The folders of a level, which must be below `level_count()`. Their ranges are adjacent, without gaps.
  [[nodiscard]] std::span<const Folder> folders(std::size_t level) const noexcept;
  /// The elements of a folder of this tree, in the order of `order()`: ascending if the folder is only ever cut into
  /// single elements, but not in general.
  [[nodiscard]] std::span<const std::size_t> elements(const Folder& folder) const noexcept;

  /// Returns whether all levels are the same partitions.
  [[nodiscard]] friend bool operator==(const PartitionTree& a, const PartitionTree& b) noexcept { return a.equals(b); }

 private:
  struct Storage;
  [[nodiscard]] bool equals(const PartitionTree& other) const noexcept;

  std::shared_ptr<const Storage> storage_;
};

}  // namespace headscope
