#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "organize/column_sums.h"
#include "organize/shared_panels.h"

namespace headscope {

/// Column sums that come from all ranks.
///
/// Column sums are sums within a map, so each rank computes those of its own heads. Row sums and comparisons of slices
/// need them for all heads, but only for some column folders. These are what is distributed: each rank compares all
/// slices in the features of its own blocks of folders, and nothing is computed twice.
///
/// What a rank needs from its own heads is computed on request. What other ranks need is exchanged, up to a megabyte of
/// rows at a time, or one batch if that is larger; the next rows are in flight while these are processed.
class SharedColumnSums final : public ColumnSums {
 public:
  /// Groups have at most `most` blocks per rank; visits are exchanged in multiples of `batch`. Panels, walk and blocks
  /// must outlive this object.
  SharedColumnSums(const SharedPanels& panels, const FolderWalk& walk, std::span<const FolderBlock> blocks,
                   std::size_t most, std::size_t batch);

  [[nodiscard]] std::size_t groups() const noexcept override { return groups_; }
  IndexRange next() override;
  void reach(const IndexRange& visits) override;
  const float* get(Summed what, std::size_t panel, std::size_t visit, std::size_t block, float* room) const override;

 private:
  /// Blocks of each rank, for a range of visits.
  struct Step {
    std::size_t group = 0;
    IndexRange visits;
    std::vector<std::vector<std::size_t>> rows;  ///< Per rank: its visited rows, in visit order.
    std::vector<std::size_t> slots;              ///< Per visit: the index of its row among these.
  };
  /// Places of the slices in a panel of heads that one rank owns.
  struct PanelPart {
    std::size_t rank = 0;
    IndexRange places;
  };

  [[nodiscard]] Ranks& ranks() const noexcept { return all_.share.ranks(); }
  [[nodiscard]] std::size_t kinds() const noexcept { return all_.form.masked ? 2 : 1; }
  [[nodiscard]] IndexRange blocks_of(std::size_t group, std::size_t rank) const noexcept;
  [[nodiscard]] std::size_t folders_in(const IndexRange& blocks) const noexcept;
  [[nodiscard]] IndexRange panels_of(std::size_t rank) const noexcept;
  [[nodiscard]] Step step_at(std::size_t group, std::size_t begin) const;
  [[nodiscard]] Step step_after(const Step& step) const;
  void begin(const Step& step);
  void make(Summed what, std::size_t panel, std::size_t row, const FolderBlock& block, float* to) const;
  const float* get_from(std::size_t rank, Summed what, std::size_t panel, std::size_t visit, std::size_t block,
                        float* room) const;

  const SharedPanels& all_;
  const FolderWalk& walk_;
  std::span<const FolderBlock> blocks_;
  std::size_t groups_;
  std::size_t visits_;  // per step
  std::size_t group_ = 0;
  Step now_;
  Step in_flight_;
  std::vector<std::span<const float>> received_;     // per rank: [kind][its panel][its row][folder][kPanel]
  std::vector<std::size_t> owner_;                   // if heads are rows: the rank of each
  std::vector<std::vector<PanelPart>> panel_parts_;  // if heads are slices: the parts of each panel
};

}  // namespace headscope
