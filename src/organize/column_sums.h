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
  kPresence,  ///< How many of them are present.
};

/// Sums over folders of the columns, for every row of every panel of slices: the first half of making features. They
/// are had for a group of blocks of folders at a time, and for the rows in the order of a walk.
class ColumnSums {
 public:
  virtual ~ColumnSums() = default;

  /// How many times `next` is to be called.
  [[nodiscard]] virtual std::size_t groups() const noexcept = 0;
  /// Goes on to the next group: the blocks, by their numbers, whose sums can be asked for now. It may be empty.
  virtual Share next() = 0;
  /// Goes on to some visits of the walk, each time to those that follow.
  virtual void reach(const Share& visits) = 0;
  /// Of a leaf among them the sums, for one panel, over the folders of a block, [folder][kPanel]: in `room`, or where
  /// they are.
  virtual const float* get(Summed what, std::size_t panel, std::size_t visit, std::size_t block, float* room) const = 0;
};

/// Made when they are asked for, from panels that hold all slices.
class PanelColumnSums final : public ColumnSums {
 public:
  /// Groups of `most` blocks. Panels, walk and blocks must outlive it.
  PanelColumnSums(const SlicePanels& panels, const FolderWalk& walk, std::span<const FolderBlock> blocks,
                  std::size_t most)
      : panels_(panels), walk_(walk), blocks_(blocks), most_(most) {}

  [[nodiscard]] std::size_t groups() const noexcept override { return (blocks_.size() + most_ - 1) / most_; }
  Share next() override {
    const std::size_t begin = next_;
    next_ = std::min(next_ + most_, blocks_.size());
    return {begin, next_};
  }
  void reach(const Share& /*visits*/) override {}
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
