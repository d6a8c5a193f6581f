#include "headscope/organize/tree_distance.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

#include "headscope/base/fixed_point.h"
#include "headscope/base/memory.h"
#include "headscope/base/parallel.h"
#include "headscope/organize/distance_memory.h"
#include "headscope/organize/tensor_share.h"
#include "organize/column_sums.h"
#include "organize/folder_plan.h"
#include "organize/shared_column_sums.h"
#include "organize/shared_panels.h"
#include "organize/slice_panels.h"
#include "organize/slice_tiles.h"

namespace headscope {
namespace {

// Maximum number of column folders whose sums are computed together: 12 KB for a panel of 32 slices, which stay in the
// L1 cache until they are used.
constexpr std::size_t kBlockFolders = 96;
// Maximum number of column folders per group, so that a row of the panels is read for several blocks at once.
constexpr std::size_t kGroupFolders = 512;
// Maximum number of features summed in float before the sum is converted to an integer; at least half of it is used.
constexpr std::size_t kFloatSum = 384;
// Size of the features of a batch of row folders. One step writes them and the next reads them, on any core: small
// enough for the shared cache, and large enough that what one core has read has left its private cache before another
// core overwrites it.
constexpr std::size_t kBatchBytes = std::size_t{13} << 19;

// Number of present entries in each pair of folders, [row folder][column folder], for a mask shared by all slices;
// otherwise empty.
std::vector<double> common_counts(const SliceForm& form, const PartitionTree& rows, const PartitionTree& columns,
                                  std::span<const WeightedFolder> row_folders,
                                  std::span<const WeightedFolder> column_folders) {
  if (form.common.size() == 0) return {};
  std::vector<double> counts(row_folders.size() * column_folders.size());
  parallel_for(row_folders.size(), [&](std::size_t i) {
    std::vector<double> before(form.columns + 1, 0);  // prefix sums over columns in tree order
    for (std::size_t c = 0; c < form.columns; ++c) {
      double here = 0;
      for (std::size_t r = row_folders[i].begin; r < row_folders[i].end; ++r) {
        here += static_cast<double>(form.common.data()[rows.order()[r] * form.columns + columns.order()[c]]);
      }
      before[c + 1] = before[c] + here;
    }
    for (std::size_t j = 0; j < column_folders.size(); ++j) {
      counts[i * column_folders.size() + j] = before[column_folders[j].end] - before[column_folders[j].begin];
    }
  });
  return counts;
}

// The folders of two trees and how to process them.
struct FolderPlan {
  FolderPlan(const PartitionTree& rows, const PartitionTree& columns, const FolderWeightOptions& weights)
      : row_folders(weighted_folders(rows, weights)),
        column_folders(weighted_folders(columns, weights)),
        walk(folder_walk(rows, row_folders)),
        blocks(folder_blocks(columns, column_folders, kBlockFolders)) {
    for (const FolderBlock& block : blocks) largest_block = std::max(largest_block, block.count);
    rows_together = kFloatSum / largest_block;
  }

  // Bytes of the features of one row folder in one block.
  [[nodiscard]] std::size_t block_bytes(const SliceForm& form) const {
    return largest_block * kFeatureRow * sizeof(float) * form.panels() * (form.masked ? 3 : 1);
  }
  // Blocks per group if all blocks are local.
  [[nodiscard]] std::size_t group_blocks(const SliceForm& form) const {
    const std::size_t fit = kBatchBytes / (rows_together * block_bytes(form));
    return std::clamp<std::size_t>(std::min(fit, kGroupFolders / largest_block), 1, blocks.size());
  }

  std::vector<WeightedFolder> row_folders;
  std::vector<WeightedFolder> column_folders;
  FolderWalk walk;
  std::vector<FolderBlock> blocks;
  std::size_t largest_block = 0;
  std::size_t rows_together = 0;  // row folders whose features in one block are summed in float together
};

// One computation: the features of all slices in some folders, and the sums so far.
class Computation {
 public:
  Computation(const SliceForm& form, const FolderPlan& plan, std::size_t group_blocks, float largest)
      : form_(form),
        plan_(plan),
        features_(std::min(group_blocks * plan.largest_block, plan.column_folders.size())),
        tiles_(form.slices),
        as_(2 * static_cast<double>(largest) * total_weight(plan.row_folders) * total_weight(plan.column_folders)) {
    const std::size_t folder_bytes = group_blocks * plan.block_bytes(form);
    batch_ = std::max<std::size_t>(1, kBatchBytes / folder_bytes / plan.rows_together) * plan.rows_together;
    batch_ = std::min(batch_, plan.row_folders.size());

    stack_ = Buffer<float>(form.panels() * plan.walk.depth * features_ * kPanel * (form.masked ? 2 : 1));
    values_ = Buffer<float>(form.panels() * batch_ * features_ * kFeatureRow);
    if (form.masked) {
      present_ = Buffer<float>(values_.size());
      weight_ = Buffer<float>(values_.size());
      unscaled_.assign(features_, 1.0F);
    }
    scale_ = Buffer<float>(batch_ * features_);
  }

  // `counts` is the number of present entries in each pair of folders; empty if it is the size of the pair.
  void run(ColumnSums& columns, std::span<const double> counts, const Context& context) {
    const std::size_t row_folders = plan_.row_folders.size();
    const std::size_t batches = (row_folders + batch_ - 1) / batch_;
    for (std::size_t g = 0; g < columns.groups(); ++g) {
      const IndexRange blocks = columns.next();
      const Group group = std::span(plan_.blocks).subspan(blocks.begin, blocks.size());
      for (std::size_t i = 0; i < batches; ++i) {
        const IndexRange rows = {i * batch_, std::min((i + 1) * batch_, row_folders)};
        columns.reach(rows);
        if (group.empty()) continue;
        make_scales(group, rows, counts);
        parallel_for(form_.panels(), [&](std::size_t panel) { make_features(columns, group, blocks, rows, panel); });
        parallel_for(tiles_.tiles().size(), [&](std::size_t tile) { add_tile(group, rows, tiles_.tiles()[tile]); });
        context.report(static_cast<double>(g * batches + i + 1) / static_cast<double>(columns.groups() * batches));
      }
    }
  }

  // Row folders per batch.
  [[nodiscard]] std::size_t batch() const noexcept { return batch_; }
  // Sums as integers, which can be added exactly.
  [[nodiscard]] std::span<std::int64_t> totals() noexcept { return tiles_.totals(); }
  [[nodiscard]] DoubleMatrix distances() const {
    return form_.masked ? tiles_.sums(as_) : from_maxima(tiles_.sums(as_));
  }

 private:
  using Group = std::span<const FolderBlock>;

  static std::size_t feature_count(Group group) noexcept {
    return group.back().begin + group.back().count - group.front().begin;
  }
  static std::size_t first_feature(Group group, const FolderBlock& block) noexcept {
    return block.begin - group.front().begin;
  }
  // Offset of the features of one block and one row folder of the batch, for one panel. Those of consecutive row
  // folders are contiguous.
  [[nodiscard]] std::size_t place(std::size_t panel, Group group, const FolderBlock& block,
                                  std::size_t in_batch) const noexcept {
    return ((panel * features_ + first_feature(group, block)) * batch_ + in_batch * block.count) * kFeatureRow;
  }

  void make_scales(Group group, const IndexRange& rows, std::span<const double> counts) {
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      for (std::size_t j = 0; j < feature_count(group); ++j) {
        const WeightedFolder& row = plan_.row_folders[i];
        const std::size_t column_folder = group.front().begin + j;
        const WeightedFolder& column = plan_.column_folders[column_folder];
        double entries = static_cast<double>(row.size()) * static_cast<double>(column.size());
        if (!counts.empty()) entries = counts[i * plan_.column_folders.size() + column_folder];
        if (form_.masked) entries = 1;
        scale_.data()[(i - rows.begin) * features_ + j] =
            entries > 0 ? static_cast<float>(row.weight * column.weight / entries) : 0.0F;
      }
    }
  }

  // Computes the features of some row folders for one panel; the stack holds the partial sums of earlier batches.
  // Weights are applied here, once, rather than for every pair of slices.
  void make_features(const ColumnSums& columns, Group group, const IndexRange& blocks, const IndexRange& rows,
                     std::size_t panel) {
    walk_sums(columns, Summed::kValues, group, blocks, rows, panel, values_);
    if (!form_.masked) return;
    walk_sums(columns, Summed::kPresence, group, blocks, rows, panel, present_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const FolderBlock& block : group) finish_masked(group, block, i, panel);
    }
  }

  void walk_sums(const ColumnSums& columns, Summed what, Group group, const IndexRange& blocks, const IndexRange& rows,
                 std::size_t panel, Buffer<float>& out) {
    alignas(64) float room[kBlockFolders * kPanel];
    const std::size_t depth = plan_.walk.depth;
    const std::size_t first_slot = (panel * (form_.masked ? 2 : 1) + static_cast<std::size_t>(what)) * depth;
    float* stack = stack_.data() + first_slot * features_ * kPanel;
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      const FolderVisit& visit = plan_.walk.visits[i];
      const float* scale = form_.masked ? unscaled_.data() : scale_.data() + (i - rows.begin) * features_;
      for (std::size_t b = 0; b < group.size(); ++b) {
        const std::size_t first = first_feature(group, group[b]);
        const auto slot = [&](std::size_t index) { return stack + (index * features_ + first) * kPanel; };
        const float* sums = visit.leaf ? columns.get(what, panel, i, blocks.begin + b, room) : slot(visit.slot);
        spread_rows(sums, scale + first, group[b].count, out.data() + place(panel, group, group[b], i - rows.begin),
                    visit.first, visit.root ? nullptr : slot(visit.into));
      }
    }
  }

  // Converts sums and counts to means, presence, and presence times weight.
  void finish_masked(Group group, const FolderBlock& block, std::size_t in_batch, std::size_t panel) {
    const std::size_t begin = place(panel, group, block, in_batch);
    float* value = values_.data() + begin;
    float* present = present_.data() + begin;
    float* weight = weight_.data() + begin;
    const float* scale = scale_.data() + in_batch * features_ + first_feature(group, block);
    for (std::size_t j = 0; j < block.count; ++j) {
      for (std::size_t s = j * kFeatureRow; s < (j + 1) * kFeatureRow; ++s) {
        value[s] /= std::max(present[s], 1.0F);
        present[s] = std::min(present[s], 1.0F);
        weight[s] = present[s] * scale[j];
      }
    }
  }

  // Each float sum covers one block and `rows_together` row folders, independent of groups and batches.
  void add_tile(Group group, const IndexRange& rows, const SliceTile& tile) {
    alignas(64) float sums[kMaxTileSums];
    const std::size_t size = tile.place().sums();
    std::fill(sums, sums + size, 0.0F);
    for (std::size_t begin = 0; begin < rows.size(); begin += plan_.rows_together) {
      const std::size_t together = std::min(plan_.rows_together, rows.size() - begin);
      for (const FolderBlock& block : group) {
        const auto at = [&](std::size_t panel) { return place(panel, group, block, begin); };
        compare(tile, at, together * block.count, sums);
        drain(size, as_.scale(), sums, tiles_.totals(tile));
      }
    }
  }

  template <typename At>
  void compare(const SliceTile& tile, const At& at, std::size_t count, float* sums) const {
    if (form_.masked) {
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

  // Converts sums of maxima to distances: |x - y| = 2 max(x, y) - x - y, and sum x = sum max(x, x).
  static DoubleMatrix from_maxima(DoubleMatrix result) {
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

  const SliceForm& form_;
  const FolderPlan& plan_;
  std::size_t features_;  // maximum per group
  std::size_t batch_ = 0;
  SliceTiles tiles_;
  FixedPoint as_;
  Buffer<float> stack_;    // [panel][slot][feature][kPanel]
  Buffer<float> values_;   // [panel][block][row folder of the batch][feature][kFeatureRow]
  Buffer<float> present_;  // the same, if masked
  Buffer<float> weight_;
  std::vector<float> unscaled_;  // ones
  Buffer<float> scale_;          // [row folder of the batch][feature]
};

class CpuSliceDistances final : public SliceDistances {
 public:
  CpuSliceDistances(const TensorSlices& slices, AbsentEntries absent)
      : form_(slice_form(slices, absent)), panels_(make_panels(slices, {.presence = form_.masked})) {}

  [[nodiscard]] DoubleMatrix compute(const PartitionTree& rows, const PartitionTree& columns,
                                     const FolderWeightOptions& weights, const Context& context) const override {
    assert(rows.size() == form_.rows && columns.size() == form_.columns);
    const FolderPlan plan(rows, columns, weights);
    const std::size_t group_blocks = plan.group_blocks(form_);
    PanelColumnSums sums(panels_, plan.walk, plan.blocks, group_blocks);
    Computation computation(form_, plan, group_blocks, panels_.largest);
    computation.run(sums, common_counts(form_, rows, columns, plan.row_folders, plan.column_folders), context);
    return computation.distances();
  }

 private:
  SliceForm form_;
  SlicePanels panels_;
};

// For slices that are distributed over ranks.
class SharedSliceDistances final : public SliceDistances {
 public:
  SharedSliceDistances(const TensorShare& share, TensorAxis axis) : panels_(make_shared_panels(share, axis)) {}

  [[nodiscard]] DoubleMatrix compute(const PartitionTree& rows, const PartitionTree& columns,
                                     const FolderWeightOptions& weights, const Context& context) const override {
    const SliceForm& form = panels_.form;
    assert(rows.size() == form.rows && columns.size() == form.columns);
    const FolderPlan plan(rows, columns, weights);
    const std::size_t ranks = panels_.share.ranks().size();
    const std::size_t group_blocks = std::min(plan.group_blocks(form), (plan.blocks.size() + ranks - 1) / ranks);
    Computation computation(form, plan, group_blocks, panels_.largest);
    SharedColumnSums sums(panels_, plan.walk, plan.blocks, group_blocks, computation.batch());
    computation.run(sums, common_counts(form, rows, columns, plan.row_folders, plan.column_folders), context);
    panels_.share.ranks().all_reduce_sum(computation.totals());
    return computation.distances();
  }

 private:
  SharedPanels panels_;
};

// Memory of a computation besides the slices.
std::size_t work_bytes(const SliceForm& form) {
  std::size_t depth = 2;
  while ((std::size_t{1} << depth) < form.rows) ++depth;
  const std::size_t features = std::min(kGroupFolders, 2 * form.columns) * form.panels();  // of one row folder
  const std::size_t stack = features * kPanel * (depth + 2) * 2 * sizeof(float);
  const std::size_t totals = form.panels() * (form.panels() + 1) / 2 * kPanel * kPanel * sizeof(std::int64_t);
  const std::size_t batch = std::max(kBatchBytes, 3 * features * kFeatureRow * sizeof(float));
  return stack + totals + batch + form.slices * form.slices * sizeof(double);
}

}  // namespace

std::size_t distance_memory(const std::array<std::size_t, 3>& extents, bool masked) {
  std::size_t most = 0;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const std::size_t slices = extents[axis];
    const std::size_t rows = extents[axis == 0 ? 1 : 0];
    const std::size_t columns = extents[axis == 2 ? 1 : 2];
    if (slices < 2) continue;
    // Slices of keys have queries as rows and heads as columns; the larger of both orders counts.
    const SliceForm form{.slices = slices, .rows = rows, .columns = columns, .masked = masked};
    const SliceForm turned{.slices = slices, .rows = columns, .columns = rows, .masked = masked};
    const std::size_t entries = saturating_multiply(saturating_multiply(rows, columns), form.panels() * kPanel);
    const std::size_t copy = saturating_multiply(entries, sizeof(float) * (masked ? 2 : 1));
    most = std::max(most, saturating_add(copy, std::max(work_bytes(form), work_bytes(turned))));
  }
  return most;
}

namespace {

class CpuTreeDistance final : public TreeDistance {
 public:
  [[nodiscard]] std::unique_ptr<SliceDistances> bind(const TensorSlices& slices, AbsentEntries absent) const override {
    return std::make_unique<CpuSliceDistances>(slices, absent);
  }
  [[nodiscard]] std::unique_ptr<SliceDistances> bind(const TensorShare& share, TensorAxis axis) const override {
    if (share.ranks().size() == 1) return bind(share.own().slices(axis), share.own().absent());
    return std::make_unique<SharedSliceDistances>(share, axis);
  }

  [[nodiscard]] std::size_t bytes(const TensorShare& share, TensorAxis axis) const override {
    const SliceForm form = slice_form(share, axis);
    if (share.ranks().size() > 1) return shared_panel_bytes(share, axis) + work_bytes(form);
    return panel_bytes(share.own().slices(axis), {.presence = form.masked}) + work_bytes(form);
  }
};

}  // namespace

std::unique_ptr<TreeDistance> cpu_tree_distance() {
  return std::make_unique<CpuTreeDistance>();
}

}  // namespace headscope
