#include "headscope/organize/tree_distance.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

#include "headscope/base/parallel.h"
#include "organize/folder_plan.h"
#include "organize/slice_panels.h"
#include "organize/slice_tiles.h"

namespace headscope {
namespace {

// Folders of the columns whose sums are made together: with a panel of 32 slices 16 KB, which stay in the first-level
// cache until they have been passed on.
constexpr std::size_t kBlockFolders = 128;
// Blocks for which a row of the panels is read in one go, and folders in them.
constexpr std::size_t kGroupBlocks = 4;
constexpr std::size_t kGroupFolders = kGroupBlocks * kBlockFolders;
// Features that are added up in float before the sum goes to double.
constexpr std::size_t kFloatSum = 512;
// What the features of a batch of row folders take. One step writes them and the next reads them, on any core: small
// enough for a cache that all share, and so large that what one core has read is out of its own before another writes
// it again.
constexpr std::size_t kBatchBytes = std::size_t{6} << 20;

// Present entries in every pair of folders, for a mask that all slices share. [row folder][column folder]
std::vector<double> common_counts(const SlicePanels& panels, const PartitionTree& rows, const PartitionTree& columns,
                                  std::span<const WeightedFolder> row_folders,
                                  std::span<const WeightedFolder> column_folders) {
  std::vector<double> counts(row_folders.size() * column_folders.size());
  parallel_for(row_folders.size(), [&](std::size_t i) {
    std::vector<double> before(panels.columns + 1, 0);  // of the columns in tree order, how many entries before each
    for (std::size_t c = 0; c < panels.columns; ++c) {
      double here = 0;
      for (std::size_t r = row_folders[i].begin; r < row_folders[i].end; ++r) {
        here += static_cast<double>(panels.common.data()[rows.order()[r] * panels.columns + columns.order()[c]]);
      }
      before[c + 1] = before[c] + here;
    }
    for (std::size_t j = 0; j < column_folders.size(); ++j) {
      counts[i * column_folders.size() + j] = before[column_folders[j].end] - before[column_folders[j].begin];
    }
  });
  return counts;
}

// One computation: trees, and the sums that are under way.
class Computation {
 public:
  Computation(const SlicePanels& panels, const PartitionTree& rows, const PartitionTree& columns,
              const FolderWeightOptions& weights, Ranks& ranks)
      : panels_(panels),
        row_folders_(weighted_folders(rows, weights)),
        column_folders_(weighted_folders(columns, weights)),
        walk_(folder_walk(rows, row_folders_)),
        blocks_(folder_blocks(columns, column_folders_, kBlockFolders)),
        masked_(panels.present.size() > 0),
        tiles_(panels.slices, ranks) {
    if (panels.common.size() > 0) counts_ = common_counts(panels, rows, columns, row_folders_, column_folders_);
    for (std::size_t first = 0; first < blocks_.size(); first += kGroupBlocks) {
      groups_.push_back(std::span(blocks_).subspan(first, std::min(kGroupBlocks, blocks_.size() - first)));
      features_ = std::max(features_, feature_count(groups_.back()));
    }
    const std::size_t folder_bytes = features_ * kFeatureRow * sizeof(float) * panels_.panels * (masked_ ? 3 : 1);
    batch_ = std::clamp<std::size_t>(kBatchBytes / folder_bytes, 1, row_folders_.size());

    stack_ = Buffer<float>(panels_.panels * walk_.depth * features_ * kPanel * (masked_ ? 2 : 1));
    values_ = Buffer<float>(panels_.panels * batch_ * features_ * kFeatureRow);
    if (masked_) {
      present_ = Buffer<float>(values_.size());
      weight_ = Buffer<float>(values_.size());
      unscaled_.assign(features_, 1.0F);
    }
    scale_ = Buffer<float>(batch_ * features_);
  }

  DoubleMatrix run(const std::function<void(double)>& progress) {
    const std::size_t batches = (row_folders_.size() + batch_ - 1) / batch_;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Group group = groups_[g];
      for (std::size_t i = 0; i < batches; ++i) {
        const std::size_t begin = i * batch_;
        const std::size_t end = std::min(begin + batch_, row_folders_.size());
        make_scales(group, begin, end);
        parallel_for(panels_.panels, [&](std::size_t panel) { make_features(group, begin, end, panel); });
        parallel_for(tiles_.own().size(),
                     [&](std::size_t tile) { add_tile(feature_count(group), end - begin, tiles_.own()[tile]); });
        if (progress) {
          progress(static_cast<double>(g * batches + i + 1) / static_cast<double>(groups_.size() * batches));
        }
      }
    }
    tiles_.exchange();
    return masked_ ? tiles_.sums() : distances(tiles_.sums());
  }

 private:
  using Group = std::span<const FolderBlock>;

  static std::size_t feature_count(Group group) noexcept {
    return group.back().begin + group.back().count - group.front().begin;
  }
  // Where the features of one row folder of the batch begin, for one panel.
  [[nodiscard]] std::size_t place(std::size_t panel, std::size_t in_batch) const noexcept {
    return (panel * batch_ + in_batch) * features_ * kFeatureRow;
  }

  void make_scales(Group group, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = 0; j < feature_count(group); ++j) {
        const WeightedFolder& row = row_folders_[i];
        const std::size_t column_folder = group.front().begin + j;
        const WeightedFolder& column = column_folders_[column_folder];
        double entries = static_cast<double>(row.size()) * static_cast<double>(column.size());
        if (!counts_.empty()) entries = counts_[i * column_folders_.size() + column_folder];
        if (masked_) entries = 1;
        scale_.data()[(i - begin) * features_ + j] =
            entries > 0 ? static_cast<float>(row.weight * column.weight / entries) : 0.0F;
      }
    }
  }

  // The features of row folders [begin, end) for one panel; the stack remembers what earlier batches have begun. They
  // are weighted here, once, and not in every pair of slices.
  void make_features(Group group, std::size_t begin, std::size_t end, std::size_t panel) {
    walk_sums(group, begin, end, panel, panels_.values, 0, values_);
    if (!masked_) return;
    walk_sums(group, begin, end, panel, panels_.present, walk_.depth, present_);
    for (std::size_t i = 0; i < end - begin; ++i) finish_masked(feature_count(group), i, panel);
  }

  void walk_sums(Group group, std::size_t begin, std::size_t end, std::size_t panel, const Buffer<float>& entries,
                 std::size_t first_slot, Buffer<float>& out) {
    alignas(64) float leaf_sums[kBlockFolders * kPanel];
    const std::size_t slots = walk_.depth * (masked_ ? 2 : 1);
    float* stack = stack_.data() + (panel * slots + first_slot) * features_ * kPanel;
    for (std::size_t i = begin; i < end; ++i) {
      const FolderVisit& visit = walk_.visits[i];
      for (const FolderBlock& block : group) {
        const std::size_t first = block.begin - group.front().begin;
        const auto slot = [&](std::size_t index) { return stack + (index * features_ + first) * kPanel; };
        const float* sums = visit.leaf ? leaf_sums : slot(visit.slot);
        if (visit.leaf) {
          add_folders(panels_.row(entries, panel, visit.element), block.steps.data(), block.steps.size(), leaf_sums);
        }
        const float* scale = masked_ ? unscaled_.data() : scale_.data() + (i - begin) * features_;
        spread_rows(sums, scale + first, block.count, out.data() + place(panel, i - begin) + first * kFeatureRow,
                    visit.first, visit.root ? nullptr : slot(visit.into));
      }
    }
  }

  // Sums and counts become means, presence, and presence times weight.
  void finish_masked(std::size_t features, std::size_t in_batch, std::size_t panel) {
    float* value = values_.data() + place(panel, in_batch);
    float* present = present_.data() + place(panel, in_batch);
    float* weight = weight_.data() + place(panel, in_batch);
    const float* scale = scale_.data() + in_batch * features_;
    for (std::size_t j = 0; j < features; ++j) {
      for (std::size_t s = j * kFeatureRow; s < (j + 1) * kFeatureRow; ++s) {
        value[s] /= std::max(present[s], 1.0F);
        present[s] = std::min(present[s], 1.0F);
        weight[s] = present[s] * scale[j];
      }
    }
  }

  void add_tile(std::size_t features, std::size_t folders, const SliceTile& tile) {
    alignas(64) float sums[kMostTileSums];
    const std::size_t size = tile.place().sums();
    std::fill(sums, sums + size, 0.0F);
    double* total = tiles_.totals(tile);
    std::size_t pending = 0;
    for (std::size_t i = 0; i < folders; ++i) {
      for (std::size_t begin = 0; begin < features; begin += kFloatSum) {
        const std::size_t count = std::min(kFloatSum, features - begin);
        if (pending + count > kFloatSum) {
          drain(size, sums, total);
          pending = 0;
        }
        compare(tile, i, begin, count, sums);
        pending += count;
      }
    }
    drain(size, sums, total);
  }

  void compare(const SliceTile& tile, std::size_t in_batch, std::size_t begin, std::size_t count, float* sums) const {
    const auto at = [&](std::size_t panel) { return place(panel, in_batch) + begin * kFeatureRow; };
    if (masked_) {
      const auto features = [&](std::size_t panel) -> MaskedFeatures {
        return {values_.data() + at(panel), present_.data() + at(panel), weight_.data() + at(panel)};
      };
      MaskedFeatures a[kTilePanels];
      for (std::size_t p = 0; p < tile.panels; ++p) a[p] = features(tile.first + p);
      add_common_differences(std::span(a).first(tile.panels), features(tile.against), count, tile.diagonal(), sums);
      return;
    }
    const float* a[kTilePanels];
    for (std::size_t p = 0; p < tile.panels; ++p) a[p] = values_.data() + at(tile.first + p);
    add_maxima(std::span(a).first(tile.panels), values_.data() + at(tile.against), count, tile.diagonal(), sums);
  }

  // From sums of maxima: |x - y| = 2 max(x, y) - x - y, and sum x = sum max(x, x).
  static DoubleMatrix distances(DoubleMatrix result) {
    const std::size_t n = result.rows();
    std::vector<double> own(n);
    for (std::size_t i = 0; i < n; ++i) own[i] = result(i, i);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        result(i, j) = std::max(0.0, (result(i, j) - own[i]) + (result(i, j) - own[j]));
      }
    }
    return result;
  }

  const SlicePanels& panels_;
  std::vector<WeightedFolder> row_folders_;
  std::vector<WeightedFolder> column_folders_;
  FolderWalk walk_;
  std::vector<FolderBlock> blocks_;
  bool masked_;
  SliceTiles tiles_;
  std::vector<double> counts_;
  std::vector<Group> groups_;
  std::size_t features_ = 0;  // in a group, at most
  std::size_t batch_ = 0;
  Buffer<float> stack_;    // [panel][slot][feature][kPanel]
  Buffer<float> values_;   // [panel][row folder of the batch][feature][kFeatureRow]
  Buffer<float> present_;  // the same, if masked
  Buffer<float> weight_;
  std::vector<float> unscaled_;  // ones
  Buffer<float> scale_;          // [row folder of the batch][feature]
};

class CpuSliceDistances final : public SliceDistances {
 public:
  CpuSliceDistances(SlicePanels panels, Ranks& ranks) : panels_(std::move(panels)), ranks_(ranks) {}

  [[nodiscard]] DoubleMatrix compute(const PartitionTree& rows, const PartitionTree& columns,
                                     const FolderWeightOptions& weights,
                                     const std::function<void(double)>& progress) const override {
    assert(rows.size() == panels_.rows && columns.size() == panels_.columns);
    return Computation(panels_, rows, columns, weights, ranks_).run(progress);
  }

 private:
  SlicePanels panels_;
  Ranks& ranks_;
};

class CpuTreeDistance final : public TreeDistance {
 public:
  explicit CpuTreeDistance(Ranks& ranks) : ranks_(ranks) {}

  [[nodiscard]] std::unique_ptr<SliceDistances> bind(const TensorSlices& slices, AbsentEntries absent) const override {
    return std::make_unique<CpuSliceDistances>(make_panels(slices, absent), ranks_);
  }

  [[nodiscard]] std::size_t bytes(const TensorSlices& slices, AbsentEntries absent) const override {
    const std::size_t panels = (slices.slices + kPanel - 1) / kPanel;
    std::size_t depth = 2;
    while ((std::size_t{1} << depth) < slices.rows) ++depth;
    const std::size_t features = std::min(kGroupFolders, 2 * slices.columns) * panels;  // of one row folder
    const std::size_t stack = features * kPanel * (depth + 2) * 2 * sizeof(float);
    const std::size_t totals = panels * (panels + 1) / 2 * kPanel * kPanel * sizeof(double);
    const std::size_t batch = std::max(kBatchBytes, 3 * features * kFeatureRow * sizeof(float));
    const std::size_t matrix = slices.slices * slices.slices * sizeof(double);
    return panel_bytes(slices, absent) + stack + totals + matrix + batch;
  }

 private:
  Ranks& ranks_;
};

}  // namespace

std::unique_ptr<TreeDistance> cpu_tree_distance(Ranks& ranks) {
  return std::make_unique<CpuTreeDistance>(ranks);
}

}  // namespace headscope
