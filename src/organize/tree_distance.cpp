#include "headscope/organize/tree_distance.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

#include "headscope/base/message.h"
#include "headscope/base/parallel.h"
#include "organize/folder_plan.h"
#include "organize/slice_panels.h"

namespace headscope {
namespace {

// Folders of the columns whose sums are made together: with a panel of 32 slices 16 KB, so that the panels of a tile
// fit the first-level cache.
constexpr std::size_t kFeatures = 128;
// Features that are added up in float before the sum goes to double.
constexpr std::size_t kFloatSum = 256;
// What the sums of a batch of row folders take: one step writes them and the next reads them, from a cache that is
// still near.
constexpr std::size_t kBatchBytes = std::size_t{2} << 20;

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
        ranks_(ranks),
        row_folders_(weighted_folders(rows, weights)),
        column_folders_(weighted_folders(columns, weights)),
        walk_(folder_walk(rows, row_folders_)),
        blocks_(folder_blocks(columns, column_folders_, kFeatures)),
        masked_(panels.present.size() > 0) {
    if (panels.common.size() > 0) counts_ = common_counts(panels, rows, columns, row_folders_, column_folders_);
    features_ = 0;
    for (const FolderBlock& block : blocks_) features_ = std::max(features_, block.count);
    const std::size_t folder_bytes = features_ * kPanel * sizeof(float) * panels_.panels * (masked_ ? 3 : 1);
    batch_ = std::clamp<std::size_t>(kBatchBytes / folder_bytes, 1, row_folders_.size());

    stack_ = Buffer<float>(panels_.panels * walk_.depth * sum_size() * (masked_ ? 2 : 1));
    sums_ = Buffer<float>(panels_.panels * batch_ * sum_size());
    if (masked_) {
      present_ = Buffer<float>(sums_.size());
      scaled_ = Buffer<float>(sums_.size());
    }
    scale_ = Buffer<float>(batch_ * features_);
    for (std::size_t a = 0; a < panels_.panels; ++a) {
      for (std::size_t b = a; b < panels_.panels; b += 2) {
        tiles_.push_back({a, b, std::min<std::size_t>(2, panels_.panels - b)});
      }
    }
    totals_.assign(tiles_.size() * kTileSize, 0);
    for (std::size_t tile = ranks_.rank(); tile < tiles_.size(); tile += ranks_.size()) own_.push_back(tile);
  }

  DoubleMatrix run(const std::function<void(double)>& progress) {
    const std::size_t batches = (row_folders_.size() + batch_ - 1) / batch_;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      for (std::size_t i = 0; i < batches; ++i) {
        const std::size_t begin = i * batch_;
        const std::size_t end = std::min(begin + batch_, row_folders_.size());
        make_scales(blocks_[b], begin, end);
        parallel_for(panels_.panels, [&](std::size_t panel) { make_sums(blocks_[b], begin, end, panel); });
        parallel_for(own_.size(), [&](std::size_t i_own) { add_tile(blocks_[b], end - begin, own_[i_own]); });
        if (progress) {
          progress(static_cast<double>(b * batches + i + 1) / static_cast<double>(blocks_.size() * batches));
        }
      }
    }
    if (ranks_.size() > 1) exchange_totals();
    return distances();
  }

 private:
  // One panel of slices against one or two others.
  struct Tile {
    std::size_t row;
    std::size_t column;
    std::size_t width;
  };
  static constexpr std::size_t kTileSize = kPanel * kTileColumns;

  // Numbers in the sums of one row folder over one block of column folders, for one panel.
  [[nodiscard]] std::size_t sum_size() const noexcept { return features_ * kPanel; }
  [[nodiscard]] std::size_t place(std::size_t panel, std::size_t in_batch) const noexcept {
    return (panel * batch_ + in_batch) * sum_size();
  }

  void make_scales(const FolderBlock& block, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = 0; j < block.count; ++j) {
        const WeightedFolder& row = row_folders_[i];
        const WeightedFolder& column = column_folders_[block.begin + j];
        double entries = static_cast<double>(row.size()) * static_cast<double>(column.size());
        if (!counts_.empty()) entries = counts_[i * column_folders_.size() + block.begin + j];
        if (masked_) entries = 1;
        scale_.data()[(i - begin) * features_ + j] =
            entries > 0 ? static_cast<float>(row.weight * column.weight / entries) : 0.0F;
      }
    }
  }

  // The sums of row folders [begin, end) for one panel; the stack remembers what earlier batches have begun.
  void make_sums(const FolderBlock& block, std::size_t begin, std::size_t end, std::size_t panel) {
    walk_sums(block, begin, end, panel, panels_.values, 0, sums_);
    if (!masked_) {  // they are weighted here, once, and not in every pair of slices
      for (std::size_t i = 0; i < end - begin; ++i) {
        scale_rows(scale_.data() + i * features_, block.count, sums_.data() + place(panel, i));
      }
      return;
    }
    walk_sums(block, begin, end, panel, panels_.present, walk_.depth, present_);
    for (std::size_t i = begin; i < end; ++i) finish_masked(block, i - begin, panel);
  }

  void walk_sums(const FolderBlock& block, std::size_t begin, std::size_t end, std::size_t panel,
                 const Buffer<float>& entries, std::size_t first_slot, Buffer<float>& out) {
    const std::size_t slots = walk_.depth * (masked_ ? 2 : 1);
    float* stack = stack_.data() + (panel * slots + first_slot) * sum_size();
    const std::size_t used = block.count * kPanel;
    for (std::size_t i = begin; i < end; ++i) {
      const FolderVisit& visit = walk_.visits[i];
      float* sum = out.data() + place(panel, i - begin);
      if (visit.leaf) {
        add_folders(panels_.row(entries, panel, visit.element), block.steps.data(), block.steps.size(), sum);
      } else {
        add_rows(stack + visit.slot * sum_size(), used, /*first=*/true, sum);
      }
      if (!visit.root) add_rows(sum, used, visit.first, stack + visit.into * sum_size());
    }
  }

  // Sums and counts become means, presence, and presence times weight.
  void finish_masked(const FolderBlock& block, std::size_t in_batch, std::size_t panel) {
    float* sum = sums_.data() + place(panel, in_batch);
    float* present = present_.data() + place(panel, in_batch);
    float* scaled = scaled_.data() + place(panel, in_batch);
    const float* scale = scale_.data() + in_batch * features_;
    for (std::size_t j = 0; j < block.count; ++j) {
      for (std::size_t s = j * kPanel; s < (j + 1) * kPanel; ++s) {
        sum[s] /= std::max(present[s], 1.0F);
        present[s] = std::min(present[s], 1.0F);
        scaled[s] = present[s] * scale[j];
      }
    }
  }

  void add_tile(const FolderBlock& block, std::size_t folders, std::size_t index) {
    alignas(64) float sums[kTileSize] = {};
    double* total = totals_.data() + index * kTileSize;
    const Tile& tile = tiles_[index];
    std::size_t pending = 0;
    for (std::size_t i = 0; i < folders; ++i) {
      if (pending + block.count > kFloatSum) {
        drain(sums, total);
        pending = 0;
      }
      const float* a = sums_.data() + place(tile.row, i);
      const float* b[2] = {sums_.data() + place(tile.column, i), sums_.data() + place(tile.column + tile.width - 1, i)};
      if (!masked_) {
        add_maxima(a, std::span(b).first(tile.width), block.count, tile.row == tile.column, sums);
      }
      for (std::size_t w = 0; masked_ && w < tile.width; ++w) {
        add_common_differences(a, b[w], scaled_.data() + place(tile.row, i),
                               present_.data() + place(tile.column + w, i), block.count, sums + w * kPanel);
      }
      pending += block.count;
    }
    drain(sums, total);
  }

  // Every rank gets the tiles of all.
  void exchange_totals() {
    const auto of_tile = [&](std::size_t tile) { return std::span(totals_).subspan(tile * kTileSize, kTileSize); };
    MessageWriter own;
    own.reserve(own_.size() * kTileSize * sizeof(double));
    for (const std::size_t tile : own_) own.put_all(std::span<const double>(of_tile(tile)));
    ranks_.gather(own.bytes(), [&](std::size_t from, std::span<const std::byte> bytes) {
      MessageReader message(bytes);
      for (std::size_t tile = from; tile < tiles_.size(); tile += ranks_.size()) message.take_all(of_tile(tile));
    });
    std::vector<std::byte> all;
    if (ranks_.is_root()) {
      const std::span<const std::byte> bytes = std::as_bytes(std::span(totals_));
      all.assign(bytes.begin(), bytes.end());
    }
    ranks_.broadcast(all);
    MessageReader(all).take_all(std::span(totals_));
  }

  [[nodiscard]] DoubleMatrix distances() const {
    const std::size_t n = panels_.slices;
    DoubleMatrix result(n, n);
    for (std::size_t t = 0; t < tiles_.size(); ++t) {
      const std::size_t row = tiles_[t].row * kPanel;
      const std::size_t column = tiles_[t].column * kPanel;
      for (std::size_t i = row; i < std::min(n, row + kPanel); ++i) {
        for (std::size_t j = std::max(i, column); j < std::min(n, column + tiles_[t].width * kPanel); ++j) {
          result(i, j) = result(j, i) = totals_[t * kTileSize + (i - row) * kTileColumns + (j - column)];
        }
      }
    }
    if (masked_) return result;
    std::vector<double> own(n);  // sum max(x, x) = sum x
    for (std::size_t i = 0; i < n; ++i) own[i] = result(i, i);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j)
        result(i, j) = std::max(0.0, (result(i, j) - own[i]) + (result(i, j) - own[j]));
    }
    return result;
  }

  const SlicePanels& panels_;
  Ranks& ranks_;
  std::vector<WeightedFolder> row_folders_;
  std::vector<WeightedFolder> column_folders_;
  FolderWalk walk_;
  std::vector<FolderBlock> blocks_;
  bool masked_;
  std::vector<double> counts_;
  std::size_t features_ = 0;
  std::size_t batch_ = 0;
  Buffer<float> stack_;    // [panel][slot][feature][kPanel]
  Buffer<float> sums_;     // [panel][row folder of the batch][feature][kPanel]
  Buffer<float> present_;  // the same, if masked
  Buffer<float> scaled_;
  Buffer<float> scale_;  // [row folder of the batch][feature]
  std::vector<Tile> tiles_;
  std::vector<std::size_t> own_;  // tiles that this rank computes
  std::vector<double> totals_;    // [tile][kPanel][kTileColumns]
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
    const std::size_t stack = panels * kFeatures * kPanel * (depth + 2) * 2 * sizeof(float);
    const std::size_t totals = panels * (panels + 2) / 2 * kPanel * kPanel * sizeof(double);
    const std::size_t matrix = slices.slices * slices.slices * sizeof(double);
    return panel_bytes(slices, absent) + stack + totals + matrix + kBatchBytes;
  }

 private:
  Ranks& ranks_;
};

}  // namespace

std::unique_ptr<TreeDistance> cpu_tree_distance(Ranks& ranks) {
  return std::make_unique<CpuTreeDistance>(ranks);
}

}  // namespace headscope
