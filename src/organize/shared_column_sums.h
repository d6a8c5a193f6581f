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
/// The sums of some megabytes of rows are exchanged at a time; while they are worked on the next ones are under way.
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
    std::vector<std::size_t> leaves;                ///< Rows that are visited, in that order.
    std::vector<std::vector<std::size_t>> of_rank;  ///< Of these, the numbers of those that come from each rank.
  };

  [[nodiscard]] Ranks& ranks() const noexcept { return all_.share.ranks(); }
  [[nodiscard]] std::size_t kinds() const noexcept { return all_.form.masked ? 2 : 1; }
  [[nodiscard]] Share blocks_of(std::size_t group, std::size_t rank) const noexcept;
  [[nodiscard]] std::size_t folders_in(const Share& blocks) const noexcept;
  [[nodiscard]] Share panels_of(std::size_t rank) const noexcept;
  [[nodiscard]] Step step_at(std::size_t group, std::size_t begin) const;
  [[nodiscard]] Step step_after(const Step& step) const;
  void begin(const Step& step);
  void join_panels();
  [[nodiscard]] const float* received(std::size_t rank, std::size_t what, std::size_t panel, std::size_t leaf) const;

  const SharedPanels& all_;
  const FolderWalk& walk_;
  std::span<const FolderBlock> blocks_;
  std::size_t groups_;
  std::size_t visits_;  // at a time
  std::size_t group_ = 0;
  Step now_;
  Step under_way_;
  std::size_t folders_ = 0;              // of this rank now
  std::vector<Buffer<float>> received_;  // from each rank: [kind][its panel][its leaf][folder][kPanel]
  std::vector<std::size_t> slot_;        // of each visit now, its leaf's number among those of its rank
  std::vector<std::size_t> owner_;       // the rank of each head, as a row, or of each panel of heads; or several
  std::vector<std::size_t> place_;       // of panels that several ranks have, the place in joined_
  std::size_t joined_panels_ = 0;
  Buffer<float> joined_;  // [panel][kind][leaf][folder][kPanel]
};

}  // namespace headscope
