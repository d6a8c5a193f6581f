#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "organize/folder_plan.h"
#include "organize/slice_panels.h"

namespace headscope {

/// What is summed over folders.
enum class Summed : std::size_t {
  kValues,    ///< The entries.
  kPresence,  ///< Number of entries that are present.
};

/// Sums over column folders, for every row of every panel of slices: the first half of computing features. They are
/// available for one group of folder blocks at a time, and for rows in the order of a walk.
class ColumnSums {
 public:
  virtual ~ColumnSums() = default;

  /// Number of calls of `next`.
  [[nodiscard]] virtual std::size_t groups() const noexcept = 0;
  /// Advances to the next group and returns the indices of the blocks whose sums are available now; may be empty.
  virtual IndexRange next() = 0;
  /// Advances to the given visits of the walk, which must follow the previous ones.
  virtual void reach(const IndexRange& visits) = 0;
  /// Returns, for a leaf among these visits and for one panel, the sums over the folders of a block, [folder][kPanel]:
  /// in `room`, or in place.
  virtual const float* get(Summed what, std::size_t panel, std::size_t visit, std::size_t block, float* room) const = 0;
};

/// Computed on request, from panels that hold all slices.
class PanelColumnSums final : public ColumnSums {
 public:
  /// Groups have at most `most` blocks. Panels, walk and blocks must outlive this object.
  PanelColumnSums(const SlicePanels& panels, const FolderWalk& walk, std::span<const FolderBlock> blocks,
                  std::size_t most)
      : panels_(panels), walk_(walk), blocks_(blocks), most_(most) {}

  [[nodiscard]] std::size_t groups() const noexcept override { return (blocks_.size() + most_ - 1) / most_; }
  IndexRange next() override {
    const std::size_t begin = next_;
    next_ = std::min(next_ + most_, blocks_.size());
    return {begin, next_};
  }
  void reach(const IndexRange& /*visits*/) override {}
  const float* get(Summed what, std::size_t panel, std::size_t visit, std::size_t block, float* room) const override {
    const Buffer<float>& entries = what == Summed::kValues ? panels_.values : panels_.present;
    const std::vector<FolderStep>& steps = blocks_[block].steps;
    add_folders(panels_.row(entries, panel, walk_.visits[visit].element), steps.data(), steps.size(), room);
    return room;
  }

 private:
  const SlicePanels& panels_;
  const FolderWalk& walk_;
  std::span<const FolderBlock> blocks_;
  std::size_t most_;
  std::size_t next_ = 0;
};

}  // namespace headscope
