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
#include "headscope/base/parallel.h"
#include "headscope/cuda/cuda_engine.h"

namespace headscope {
namespace cuda {
namespace {

// What the features of a batch of row folders take: enough to fill the device many times over.
constexpr std::size_t kBatchBytes = std::size_t{512} << 20;

// What all distances on one device share.
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
  DeviceMemory distances;
};

bool differs_between_slices(const TensorSlices& slices, AbsentEntries absent) {
  return slices.present != nullptr && absent == AbsentEntries::kLeftOut && slices.present_slice_stride != 0;
}

SliceGrid grid_of(const TensorSlices& slices) {
  const std::size_t width = (slices.slices + kSliceTile - 1) / kSliceTile * kSliceTile;
  return {slices.slices, width, slices.rows, slices.columns};
}

// Axes by stride, fastest first.
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

// Where every number of a run of memory belongs; nothing if there are gaps.
bool is_dense(const TensorSlices& slices, TensorOrder& order) {
  std::size_t stride = 1;
  std::size_t k = 0;
  bool dense = true;
  // Axes of one element have any stride.
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

// A list on the device.
template <typename T>
DeviceMemory to_device(const std::vector<T>& values, const Stream& stream) {
  DeviceMemory memory(values.size() * sizeof(T));
  check(cudaMemcpyAsync(memory.as(), values.data(), memory.bytes(), cudaMemcpyHostToDevice, stream.get()),
        "cannot copy to the device");
  stream.wait();
  return memory;
}

// The folders of a tree there.
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

class CudaSliceDistances final : public SliceDistances {
 public:
  CudaSliceDistances(std::shared_ptr<Workspace> work, const TensorSlices& slices, AbsentEntries absent)
      : work_(std::move(work)), grid_(grid_of(slices)) {
    const std::lock_guard lock(work_->mutex);
    work_->device.use();
    values_ = DeviceMemory(grid_.size() * sizeof(float));
    const cudaStream_t stream = work_->stream.get();
    check(cudaMemsetAsync(values_.as(), 0, values_.bytes(), stream), "cannot clear memory");
    if (differs_between_slices(slices, absent)) {
      presence_ = DeviceMemory(grid_.size());
      check(cudaMemsetAsync(presence_.as(), 0, presence_.bytes(), stream), "cannot clear memory");
    } else if (slices.present != nullptr && absent == AbsentEntries::kLeftOut) {
      note_common(slices);
    }
    send(slices);
    if (presence_.bytes() == 0) center_entries(grid_, values_.as<float>(), stream);
    work_->stream.wait();
  }

  [[nodiscard]] DoubleMatrix compute(const PartitionTree& rows, const PartitionTree& columns,
                                     const FolderWeightOptions& weights,
                                     const std::function<void(double)>& progress) const override {
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

    PairSums sums = PairSums::plan(grid_.width);
    work_->pair_sums.need(sums.bytes());
    sums.sums = work_->pair_sums.as<double>();
    check(cudaMemsetAsync(sums.sums, 0, sums.bytes(), work_->stream.get()), "cannot clear memory");
    const std::size_t batch = reserve_batch(row_folders.size(), column_folders.size());
    for (std::size_t first = 0; first < row_folders.size(); first += batch) {
      const std::size_t count = std::min(batch, row_folders.size() - first);
      add_batch(row_lists.get(), column_lists.get(), first, count, counts.as<float>(), sums);
      work_->stream.wait();
      if (progress) progress(static_cast<double>(first + count) / static_cast<double>(row_folders.size()));
    }
    return fetch(sums);
  }

 private:
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
      mask = DeviceMemory(bytes);
      const HostBytes parts[] = {std::as_bytes(std::span(slices.present, bytes))};
      work_->upload.send(parts, work_->stream, mask.as<std::byte>());
      present = {mask.as<std::uint8_t>(), slices.present_slice_stride, slices.present_row_stride,
                 slices.present_column_stride};
    }
    const HostBytes parts[] = {std::as_bytes(std::span(values, slices.slices * slices.rows * slices.columns))};
    work_->upload.send(parts, work_->stream, [&](const std::byte* data, std::size_t first, std::size_t bytes) {
      place_entries(reinterpret_cast<const float*>(data), first / sizeof(float), bytes / sizeof(float), order, present,
                    grid_, values_.as<float>(), presence_.as<std::uint8_t>(), work_->stream.get());
    });
    work_->stream.wait();  // the mask goes
  }

  // Row folders that are taken at a time.
  [[nodiscard]] std::size_t reserve_batch(std::size_t row_folders, std::size_t column_folders) const {
    const bool masked = presence_.bytes() > 0;
    const std::size_t sum_size = grid_.columns * grid_.width;
    const std::size_t folder_bytes = (sum_size * (masked ? 2 : 1) + column_folders * grid_.width) * sizeof(float);
    // A launch has no more than 65535 rows of blocks.
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
    // Zeros that are equal in all slices fill the last step.
    const std::size_t made = count * columns.count;
    const std::size_t filled = (made + kFeatureStep - 1) / kFeatureStep * kFeatureStep;
    check(cudaMemsetAsync(features + made * grid_.width, 0, (filled - made) * grid_.width * sizeof(float), stream),
          "cannot clear memory");
    add_differences(features, filled, grid_.width, masked, sums, stream);
  }

  // Present entries in every pair of folders, [row folder][column folder].
  [[nodiscard]] std::vector<float> common_counts(const PartitionTree& rows, const PartitionTree& columns,
                                                 const std::vector<WeightedFolder>& row_folders,
                                                 const std::vector<WeightedFolder>& column_folders) const {
    std::vector<float> counts(row_folders.size() * column_folders.size());
    parallel_for(row_folders.size(), [&](std::size_t i) {
      std::vector<std::size_t> before(grid_.columns + 1, 0);  // of the columns in tree order, entries before each
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

  [[nodiscard]] DoubleMatrix fetch(const PairSums& sums) const {
    DoubleMatrix result(grid_.slices, grid_.slices);
    const std::size_t bytes = result.values().size_bytes();
    work_->distances.need(bytes);
    finish_distances(sums, grid_.slices, work_->distances.as<double>(), work_->stream.get());
    check(cudaMemcpyAsync(result.values().data(), work_->distances.as(), bytes, cudaMemcpyDeviceToHost,
                          work_->stream.get()),
          "cannot copy from the device");
    work_->stream.wait();
    return result;
  }

  std::shared_ptr<Workspace> work_;
  SliceGrid grid_;
  DeviceMemory values_;
  DeviceMemory presence_;             // a byte an entry, if that differs between slices and matters
  std::vector<std::uint8_t> common_;  // [row][column], if it matters and does not differ
};

class CudaTreeDistance final : public TreeDistance {
 public:
  explicit CudaTreeDistance(const Device& device) : work_(std::make_shared<Workspace>(device)) {}

  [[nodiscard]] std::unique_ptr<SliceDistances> bind(const TensorSlices& slices, AbsentEntries absent) const override {
    return std::make_unique<CudaSliceDistances>(work_, slices, absent);
  }

  // Of this machine's memory: the tensor is on the device.
  [[nodiscard]] std::size_t bytes(const TensorSlices& slices, AbsentEntries /*absent*/) const override {
    return slices.slices * slices.slices * sizeof(double) + 2 * Upload::kPiece;
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
