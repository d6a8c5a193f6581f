#include "headscope/organize/tree_distance.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "cuda/tree_kernels.h"
#include "cuda/upload.h"
#include "headscope/base/buffer.h"
#include "headscope/base/fixed_point.h"
#include "headscope/base/message.h"
#include "headscope/base/parallel.h"
#include "headscope/cuda/cuda_engine.h"
#include "headscope/organize/tensor_share.h"

namespace headscope {
namespace cuda {
namespace {

// Memory for the features of a batch of row folders: enough to fill the device many times over.
constexpr std::size_t kBatchBytes = std::size_t{512} << 20;

// Shared by all distances on one device.
struct Workspace {
  explicit Workspace(const Device& on) : device(on) {}

  Device device;
  std::mutex mutex;
  Stream stream;
  Upload upload;
  DeviceMemory row_sums;
  DeviceMemory row_counts;
  DeviceMemory features;
  DeviceMemory pair_sums;
  DeviceMemory totals;
};

bool differs_between_slices(const TensorSlices& slices, AbsentEntries absent) {
  return slices.present != nullptr && absent == AbsentEntries::kLeftOut && slices.present_slice_stride != 0;
}

SliceGrid grid_of(const TensorSlices& slices) {
  const std::size_t width = (slices.slices + kSliceTile - 1) / kSliceTile * kSliceTile;
  return {slices.slices, width, slices.rows, slices.columns};
}

// Axes by stride, fastest-varying first.
std::array<std::pair<TensorOrder::Axis, std::size_t>, 3> sorted_strides(const TensorSlices& slices) {
  std::array<std::pair<TensorOrder::Axis, std::size_t>, 3> axes = {{{TensorOrder::kSlice, slices.slice_stride},
                                                                    {TensorOrder::kRow, slices.row_stride},
                                                                    {TensorOrder::kColumn, slices.column_stride}}};
  std::ranges::stable_sort(axes, {}, [](const auto& axis) { return axis.second; });
  return axes;
}

std::size_t extent(const TensorSlices& slices, TensorOrder::Axis axis) {
  return axis == TensorOrder::kSlice ? slices.slices : axis == TensorOrder::kRow ? slices.rows : slices.columns;
}

// Returns whether the tensor is contiguous, and its axis order in `order`.
bool is_dense(const TensorSlices& slices, TensorOrder& order) {
  std::size_t stride = 1;
  std::size_t k = 0;
  bool dense = true;
  // Axes of extent 1 may have any stride.
  for (const bool single : {false, true}) {
    for (const auto& [axis, own] : sorted_strides(slices)) {
      if ((extent(slices, axis) == 1) != single) continue;
      if (!single) dense = dense && own == stride;
      order.extents[k] = extent(slices, axis);
      order.axes[k++] = axis;
      stride *= extent(slices, axis);
    }
  }
  return dense;
}

// [slice][row][column]
Buffer<float> gathered(const TensorSlices& in) {
  Buffer<float> out(in.slices * in.rows * in.columns);
  parallel_for(in.slices * in.rows, [&](std::size_t i) {
    const float* from = in.values + i / in.rows * in.slice_stride + i % in.rows * in.row_stride;
    for (std::size_t c = 0; c < in.columns; ++c) out.data()[i * in.columns + c] = from[c * in.column_stride];
  });
  return out;
}

// Copies a list to the device.
template <typename T>
DeviceMemory to_device(const std::vector<T>& values, const Stream& stream) {
  DeviceMemory memory(values.size() * sizeof(T));
  check(cudaMemcpyAsync(memory.as(), values.data(), memory.bytes(), cudaMemcpyHostToDevice, stream.get()),
        "cannot copy to the device");
  stream.wait();
  return memory;
}

// The folders of a tree on the device.
class FolderLists {
 public:
  FolderLists(const PartitionTree& tree, const std::vector<WeightedFolder>& folders, const Stream& stream)
      : count_(folders.size()) {
    std::vector<int> order;
    for (const std::size_t element : tree.order()) order.push_back(static_cast<int>(element));
    order_ = to_device(order, stream);
    std::vector<int> begin;
    std::vector<int> end;
    std::vector<double> weight;
    for (const WeightedFolder& folder : folders) {
      begin.push_back(static_cast<int>(folder.begin));
      end.push_back(static_cast<int>(folder.end));
      weight.push_back(folder.weight);
    }
    begin_ = to_device(begin, stream);
    end_ = to_device(end, stream);
    weight_ = to_device(weight, stream);
  }

  [[nodiscard]] DeviceFolders get() const noexcept {
    return {order_.as<int>(), begin_.as<int>(), end_.as<int>(), weight_.as<double>(), count_};
  }

 private:
  std::size_t count_;
  DeviceMemory order_;
  DeviceMemory begin_;
  DeviceMemory end_;
  DeviceMemory weight_;
};

// Some heads of a tensor, with their masks if each head has its own.
struct HeadBlock {
  IndexRange heads;
  std::span<const float> values;
  std::span<const std::uint8_t> present;
};

// Calls `use` with the heads of each rank in turn, passing them around the ring.
void for_all_heads(const TensorShare& share, const std::function<void(const HeadBlock&)>& use) {
  Ranks& ranks = share.ranks();
  const NetworkTensor& own = share.own();
  MessageWriter writer;
  writer.put_all(std::span<const float>(own.values.values()));
  if (own.mask_per_head) writer.put_all(std::span<const std::uint8_t>(own.present));
  std::vector<std::byte> bytes = std::move(writer).release();
  for (std::size_t step = 0; step < ranks.size(); ++step) {
    const IndexRange heads = share.heads_of((ranks.rank() + ranks.size() - step) % ranks.size());
    const std::size_t count = heads.size() * own.map_size();
    std::vector<float> values(count);
    std::vector<std::uint8_t> present(own.mask_per_head ? count : 0);
    MessageReader message(bytes);
    message.take_all(std::span(values));
    message.take_all(std::span(present));
    if (step + 1 < ranks.size()) ranks.begin_shift(std::exchange(bytes, {}));
    if (heads.size() > 0) use({heads, values, present});
    if (step + 1 < ranks.size()) bytes = ranks.finish_shift();
  }
}

class CudaSliceDistances final : public SliceDistances {
 public:
  CudaSliceDistances(std::shared_ptr<Workspace> work, const TensorSlices& slices, AbsentEntries absent)
      : work_(std::move(work)), grid_(grid_of(slices)), ranks_(one_rank()) {
    const std::lock_guard lock(work_->mutex);
    begin(slices, differs_between_slices(slices, absent), absent);
    send(slices);
    finish();
  }

  // Every device gets the maps of all ranks.
  CudaSliceDistances(std::shared_ptr<Workspace> work, const TensorShare& share, TensorAxis axis)
      : work_(std::move(work)), ranks_(share.ranks()) {
    const std::lock_guard lock(work_->mutex);
    const NetworkTensor& own = share.own();
    TensorSlices whole = own.slices(axis);
    (axis == TensorAxis::kHead ? whole.slices : whole.rows) = share.heads();
    grid_ = grid_of(whole);
    const bool left_out = own.absent() == AbsentEntries::kLeftOut;
    begin(whole, left_out && (own.mask_per_head || differs_between_slices(whole, own.absent())), own.absent());
    for_all_heads(share, [&](const HeadBlock& block) { send(share, axis, block); });
    finish();
  }

  [[nodiscard]] DoubleMatrix compute(const PartitionTree& rows, const PartitionTree& columns,
                                     const FolderWeightOptions& weights, const Context& context) const override {
    assert(rows.size() == grid_.rows && columns.size() == grid_.columns);
    const std::lock_guard lock(work_->mutex);
    work_->device.use();
    const std::vector<WeightedFolder> row_folders = weighted_folders(rows, weights);
    const std::vector<WeightedFolder> column_folders = weighted_folders(columns, weights);
    const FolderLists row_lists(rows, row_folders, work_->stream);
    const FolderLists column_lists(columns, column_folders, work_->stream);
    DeviceMemory counts;
    if (!common_.empty()) {
      counts = to_device(common_counts(rows, columns, row_folders, column_folders), work_->stream);
    }

    const FixedPoint as(2 * static_cast<double>(largest_) * total_weight(row_folders) * total_weight(column_folders));
    PairSums sums = PairSums::plan(grid_.width);
    sums.scale = as.scale();
    work_->pair_sums.need(sums.bytes());
    sums.sums = work_->pair_sums.as<long long>();
    check(cudaMemsetAsync(sums.sums, 0, sums.bytes(), work_->stream.get()), "cannot clear memory");
    const std::size_t batch = reserve_batch(row_folders.size(), column_folders.size());
    // Batches do not depend on the number of ranks, so features are summed in the same groups.
    for (std::size_t first = ranks_.rank() * batch; first < row_folders.size(); first += ranks_.size() * batch) {
      const std::size_t count = std::min(batch, row_folders.size() - first);
      add_batch(row_lists.get(), column_lists.get(), first, count, counts.as<float>(), sums);
      work_->stream.wait();
      context.report(static_cast<double>(first + count) / static_cast<double>(row_folders.size()));
    }
    return fetch(sums, as);
  }

 private:
  void begin(const TensorSlices& slices, bool masked, AbsentEntries absent) {
    work_->device.use();
    values_ = DeviceMemory(grid_.size() * sizeof(float));
    const cudaStream_t stream = work_->stream.get();
    check(cudaMemsetAsync(values_.as(), 0, values_.bytes(), stream), "cannot clear memory");
    if (masked) {
      presence_ = DeviceMemory(grid_.size());
      check(cudaMemsetAsync(presence_.as(), 0, presence_.bytes(), stream), "cannot clear memory");
    } else if (slices.present != nullptr && absent == AbsentEntries::kLeftOut) {
      note_common(slices);
    }
  }

  void finish() {
    const cudaStream_t stream = work_->stream.get();
    if (presence_.bytes() == 0) center_entries(grid_, values_.as<float>(), stream);
    const DeviceMemory largest(sizeof largest_);
    find_largest(grid_, values_.as<float>(), largest.as<float>(), stream);
    check(cudaMemcpyAsync(&largest_, largest.as(), sizeof largest_, cudaMemcpyDeviceToHost, stream),
          "cannot copy from the device");
    work_->stream.wait();
  }

  void note_common(const TensorSlices& slices) {
    common_.resize(slices.rows * slices.columns);
    for (std::size_t i = 0; i < common_.size(); ++i) {
      const std::size_t row = i / slices.columns * slices.present_row_stride;
      common_[i] = slices.present[row + i % slices.columns * slices.present_column_stride] != 0;
    }
  }

  void send(const TensorSlices& slices) {
    TensorOrder order{};
    Buffer<float> copy;
    const float* values = slices.values;
    if (!is_dense(slices, order)) {
      copy = gathered(slices);
      values = copy.data();
      order = {{slices.columns, slices.rows, slices.slices},
               {TensorOrder::kColumn, TensorOrder::kRow, TensorOrder::kSlice}};
    }
    DeviceMemory mask;
    PresentEntries present;
    if (slices.present != nullptr) {
      const std::size_t bytes = (slices.slices - 1) * slices.present_slice_stride +
                                (slices.rows - 1) * slices.present_row_stride +
                                (slices.columns - 1) * slices.present_column_stride + 1;
      mask = upload(std::span(slices.present, bytes));
      present = {mask.as<std::uint8_t>(), slices.present_slice_stride, slices.present_row_stride,
                 slices.present_column_stride};
    }
    send(std::span(values, slices.slices * slices.rows * slices.columns), 0, order, present);
    work_->stream.wait();  // the mask is freed on return
  }

  // Uploads some heads of a tensor whose other heads are on other ranks.
  void send(const TensorShare& share, TensorAxis axis, const HeadBlock& block) {
    const NetworkTensor& own = share.own();
    const auto role = [&](TensorAxis of) {
      if (of == axis) return TensorOrder::kSlice;
      return of == TensorAxis::kHead || (of == TensorAxis::kQuery && axis == TensorAxis::kHead) ? TensorOrder::kRow
                                                                                                : TensorOrder::kColumn;
    };
    const TensorOrder order = {{own.keys(), own.queries(), share.heads()},
                               {role(TensorAxis::kKey), role(TensorAxis::kQuery), role(TensorAxis::kHead)}};
    DeviceMemory mask;
    PresentEntries present;
    if (own.masked()) {
      const auto bytes = own.mask_per_head ? block.present : std::span<const std::uint8_t>(own.present);
      mask = upload(bytes);
      const auto stride = [&](TensorOrder::Axis wanted) -> std::size_t {
        if (role(TensorAxis::kKey) == wanted) return 1;
        if (role(TensorAxis::kQuery) == wanted) return own.keys();
        return own.mask_per_head ? own.map_size() : 0;
      };
      // Heads are counted from the first of the tensor, masks from the first of the block.
      const std::size_t before = own.mask_per_head ? block.heads.begin * own.map_size() : 0;
      present = {mask.as<std::uint8_t>(), stride(TensorOrder::kSlice), stride(TensorOrder::kRow),
                 stride(TensorOrder::kColumn), before};
    }
    send(block.values, block.heads.begin * own.map_size(), order, present);
    work_->stream.wait();
  }

  void send(std::span<const float> values, std::size_t begin, const TensorOrder& order, const PresentEntries& present) {
    const HostBytes parts[] = {std::as_bytes(values)};
    work_->upload.send(parts, work_->stream, [&](const std::byte* data, std::size_t first, std::size_t bytes) {
      place_entries(reinterpret_cast<const float*>(data), begin + first / sizeof(float), bytes / sizeof(float), order,
                    present, grid_, values_.as<float>(), presence_.as<std::uint8_t>(), work_->stream.get());
    });
  }

  [[nodiscard]] DeviceMemory upload(std::span<const std::uint8_t> mask) const {
    DeviceMemory memory(mask.size());
    const HostBytes parts[] = {std::as_bytes(mask)};
    work_->upload.send(parts, work_->stream, memory.as<std::byte>());
    return memory;
  }

  // Allocates buffers and returns the number of row folders per batch.
  [[nodiscard]] std::size_t reserve_batch(std::size_t row_folders, std::size_t column_folders) const {
    const bool masked = presence_.bytes() > 0;
    const std::size_t sum_size = grid_.columns * grid_.width;
    const std::size_t folder_bytes = (sum_size * (masked ? 2 : 1) + column_folders * grid_.width) * sizeof(float);
    // CUDA limits the grid's y dimension to 65535.
    const std::size_t most = std::clamp<std::size_t>(kBatchBytes / folder_bytes, 1, 32768);
    const std::size_t batch = std::min(most, row_folders);
    work_->row_sums.need(batch * sum_size * sizeof(float));
    if (masked) work_->row_counts.need(batch * sum_size * sizeof(float));
    work_->features.need((batch * column_folders + kFeatureStep) * grid_.width * sizeof(float));
    return batch;
  }

  void add_batch(const DeviceFolders& rows, const DeviceFolders& columns, std::size_t first, std::size_t count,
                 const float* counts, const PairSums& sums) const {
    const cudaStream_t stream = work_->stream.get();
    const bool masked = presence_.bytes() > 0;
    FeatureSource source{work_->row_sums.as<float>(), nullptr, counts};
    sum_rows(grid_, values_.as<float>(), rows, first, count, work_->row_sums.as<float>(), stream);
    if (masked) {
      sum_rows(grid_, presence_.as<std::uint8_t>(), rows, first, count, work_->row_counts.as<float>(), stream);
      source.presence = work_->row_counts.as<float>();
    }
    float* const features = work_->features.as<float>();
    make_features(grid_, source, rows, first, count, columns, features, stream);
    // Pad the last step with zeros, which are equal in all slices.
    const std::size_t made = count * columns.count;
    const std::size_t filled = (made + kFeatureStep - 1) / kFeatureStep * kFeatureStep;
    check(cudaMemsetAsync(features + made * grid_.width, 0, (filled - made) * grid_.width * sizeof(float), stream),
          "cannot clear memory");
    add_differences(features, filled, grid_.width, masked, sums, stream);
  }

  // Number of present entries in every pair of folders, [row folder][column folder].
  [[nodiscard]] std::vector<float> common_counts(const PartitionTree& rows, const PartitionTree& columns,
                                                 const std::vector<WeightedFolder>& row_folders,
                                                 const std::vector<WeightedFolder>& column_folders) const {
    std::vector<float> counts(row_folders.size() * column_folders.size());
    parallel_for(row_folders.size(), [&](std::size_t i) {
      std::vector<std::size_t> before(grid_.columns + 1, 0);  // number of entries before each column, in tree order
      for (std::size_t c = 0; c < grid_.columns; ++c) {
        before[c + 1] = before[c];
        for (std::size_t r = row_folders[i].begin; r < row_folders[i].end; ++r) {
          before[c + 1] += common_[rows.order()[r] * grid_.columns + columns.order()[c]];
        }
      }
      for (std::size_t j = 0; j < column_folders.size(); ++j) {
        counts[i * column_folders.size() + j] =
            static_cast<float>(before[column_folders[j].end] - before[column_folders[j].begin]);
      }
    });
    return counts;
  }

  // Returns the sums over all ranks.
  [[nodiscard]] DoubleMatrix fetch(const PairSums& sums, const FixedPoint& as) const {
    std::vector<std::int64_t> totals(grid_.slices * grid_.slices);
    const std::size_t bytes = totals.size() * sizeof totals[0];
    work_->totals.need(bytes);
    finish_sums(sums, grid_.slices, work_->totals.as<std::int64_t>(), work_->stream.get());
    check(cudaMemcpyAsync(totals.data(), work_->totals.as(), bytes, cudaMemcpyDeviceToHost, work_->stream.get()),
          "cannot copy from the device");
    work_->stream.wait();
    ranks_.all_reduce_sum(totals);
    DoubleMatrix result(grid_.slices, grid_.slices);
    std::ranges::transform(totals, result.values().begin(), [&](std::int64_t total) { return as.value(total); });
    return result;
  }

  std::shared_ptr<Workspace> work_;
  SliceGrid grid_;
  Ranks& ranks_;
  float largest_ = 0;  // largest magnitude of all entries
  DeviceMemory values_;
  DeviceMemory presence_;             // one byte per entry, if presence differs between slices and matters
  std::vector<std::uint8_t> common_;  // [row][column], if presence matters but does not differ
};

class CudaTreeDistance final : public TreeDistance {
 public:
  explicit CudaTreeDistance(const Device& device) : work_(std::make_shared<Workspace>(device)) {}

  [[nodiscard]] std::unique_ptr<SliceDistances> bind(const TensorSlices& slices, AbsentEntries absent) const override {
    return std::make_unique<CudaSliceDistances>(work_, slices, absent);
  }

  [[nodiscard]] std::unique_ptr<SliceDistances> bind(const TensorShare& share, TensorAxis axis) const override {
    if (share.ranks().size() == 1) return bind(share.own().slices(axis), share.own().absent());
    return std::make_unique<CudaSliceDistances>(work_, share, axis);
  }

  // Host memory only: the tensor is on the device. There are three copies of what moves around the ring: one in use,
  // one being sent and one being received.
  [[nodiscard]] std::size_t bytes(const TensorShare& share, TensorAxis axis) const override {
    const std::size_t ranks = share.ranks().size();
    const std::size_t moving = ranks == 1 ? 0 : 3 * (share.size() / ranks) * (sizeof(float) + 1);
    return share.extent(axis) * share.extent(axis) * sizeof(double) + 2 * Upload::kPiece + moving;
  }

 private:
  std::shared_ptr<Workspace> work_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<TreeDistance> cuda_tree_distance(int device) {
  return std::make_unique<cuda::CudaTreeDistance>(cuda::open_device(device));
}

}  // namespace headscope
