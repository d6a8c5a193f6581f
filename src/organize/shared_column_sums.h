#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "organize/column_sums.h"
#include "organize/shared_panels.h"

namespace headscope {

/// Sums over columns that come from all ranks.
///
/// Sums over columns are sums within a map, so each rank makes those of its own heads. To go on with sums over rows,
/// and to compare slices, one needs them for all heads; but only for some folders of the columns, and these are what
/// ranks share: every rank compares all slices in the features of its own blocks of folders. So nothing is computed
/// twice.
///
/// What a rank needs of its own heads it makes when it is asked for. What others need of them is exchanged, some
/// hundred kilobytes of rows at a time; while they are worked on the next ones are under way.
class SharedColumnSums final : public ColumnSums {
 public:
  /// Groups of `most` blocks a rank, and as many visits of the walk at a time as a multiple of `batch`. Panels, walk
  /// and blocks must outlive it.
  SharedColumnSums(const SharedPanels& panels, const FolderWalk& walk, std::span<const FolderBlock> blocks,
                   std::size_t most, std::size_t batch);

  [[nodiscard]] std::size_t groups() const noexcept override { return groups_; }
  Share next() override;
  void reach(const Share& visits) override;
  const float* get(Summed what, std::size_t panel, std::size_t visit, std::size_t block, float* room) const override;

 private:
  /// Some blocks of each rank, for some visits.
  struct Step {
    std::size_t group = 0;
    Share visits;
    std::vector<std::vector<std::size_t>> rows;  ///< That are visited and that a rank has, in the order of visits.
    std::vector<std::size_t> slots;              ///< Of each visit, the place of its row among these.
  };
  /// Some slices of a panel of heads, by their places in it, and the rank that has them.
  struct PanelPart {
    std::size_t rank = 0;
    Share places;
  };

  [[nodiscard]] Ranks& ranks() const noexcept { return all_.share.ranks(); }
  [[nodiscard]] std::size_t kinds() const noexcept { return all_.form.masked ? 2 : 1; }
  [[nodiscard]] Share blocks_of(std::size_t group, std::size_t rank) const noexcept;
  [[nodiscard]] std::size_t folders_in(const Share& blocks) const noexcept;
  [[nodiscard]] Share panels_of(std::size_t rank) const noexcept;
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
  std::size_t visits_;  // at a time
  std::size_t group_ = 0;
  Step now_;
  Step under_way_;
  std::vector<std::span<const float>> received_;     // from each rank: [kind][its panel][its row][folder][kPanel]
  std::vector<std::size_t> owner_;                   // where heads are rows: the rank of each
  std::vector<std::vector<PanelPart>> panel_parts_;  // where heads are slices: of each panel
};

}  // namespace headscope
