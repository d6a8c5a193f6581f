#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "cuda/blas.h"
#include "cuda/block_norm_kernel.h"
#include "cuda/device.h"
#include "cuda/layer_memory.h"
#include "cuda/preparation.h"
#include "cuda/strassen_kernels.h"
#include "headscope/base/error.h"
#include "headscope/cuda/cuda_engine.h"

namespace headscope {
namespace cuda {
namespace {

// Columns per side of a tile: its product, 16 MB, stays in the cache of large devices until its squares are summed. On
// an H200, among sides from 1024 to 8192 and one to three streams, 2048 x 2048 with two streams is fastest in every
// precision: 371 TFLOP/s in TF32 (4096 x 4096: 350, one stream: 326).
constexpr std::size_t kTileRows = 2048;
constexpr std::size_t kTileColumns = 2048;
// For halves of layers, where seven products exist at the same time: at most 3072 x 3072 each, 264 MB in total.
constexpr std::size_t kHalfTile = 3072;
// Minimum columns per half layer, and minimum half of the dimensions, for which halves pay off: 10 % at 4096, 3 % at
// 2048, nothing at 1024.
constexpr std::size_t kLeastHalf = 2048;
// For a layer with itself: smaller, since the part of a tile below the diagonal is wasted work.
constexpr std::size_t kMirroredRows = 1024;
// Streams that take tiles in rotation: while the product of one leaves processors idle, the other can start its sums
// and products.
constexpr std::size_t kLanes = 2;

// Device memory that a process needs before it allocates any: for its kernels and those of cuBLAS.
constexpr std::size_t kContext = std::size_t{1} << 29;

// Splits heads into parts of nearly equal size that fit `columns` columns.
struct Cut {
  std::size_t heads = 0;
  std::size_t parts = 0;

  Cut(std::size_t count, std::size_t width, std::size_t columns) : heads(count) {
    const std::size_t most = std::max<std::size_t>(1, columns / std::max<std::size_t>(1, width));
    parts = (count + most - 1) / most;
  }
  [[nodiscard]] std::size_t begin(std::size_t part) const noexcept { return part * heads / parts; }
};

// A stream and the buffers its products need.
struct Lane {
  Stream stream;
  Blas blas{stream};
  DeviceMemory tile;
  Event done;
};

// Buffer for norms, on the device and in pinned host memory. Allocated front to back and released all at once:
// allocating in between would wait for running products.
struct NormSpace {
  static constexpr std::size_t kLeast = std::size_t{4} << 20;

  DeviceMemory made;
  PinnedMemory arrived;
  std::size_t used = 0;  // bytes

  explicit NormSpace(std::size_t bytes) : made(std::max(bytes, kLeast)), arrived(std::max(bytes, kLeast)) {}
  [[nodiscard]] std::size_t left() const noexcept { return made.bytes() - used; }
};

// Blocks whose norms are being computed.
struct Pending {
  std::vector<LayerBlock> blocks;
  const float* arrived;
};

// Which side's Strassen sums.
enum Side { kAsSource, kAsTarget };

// A serialized layer: this header, ranks, moments, factors.
struct PackedHeader {
  std::uint64_t precision;
  std::uint64_t heads;
  std::uint64_t d;
  std::uint64_t h;
  std::uint64_t bases;
};

const DeviceLayer& on_device(const PreparedLayer& layer) {
  const auto* found = dynamic_cast<const DeviceLayer*>(&layer);
  if (found == nullptr) throw Error(ErrorKind::kInvalidArgument, "cuda: the layer was prepared by another engine");
  return *found;
}

std::size_t norm_count(const LayerBlock& block) {
  return on_device(*block.source).heads * on_device(*block.target).heads;
}

// Whether a layer of this size is multiplied by halves. Only in TF32, where the device runs at its power limit, so that
// only fewer multiplications can make it faster. In fp16 and bf16 the memory for the sums is better spent on layers.
bool has_halves(Precision precision, std::size_t heads, std::size_t d, std::size_t h) {
  return precision == Precision::kTf32 && heads % 2 == 0 && d % 8 == 0 && heads / 2 * h >= kLeastHalf &&
         d / 2 >= kLeastHalf;
}

WholeFactors whole(const DeviceLayer& layer) {
  return {reinterpret_cast<const float*>(layer.memory.data()), layer.heads * layer.h, layer.d};
}

std::string name_of(Precision precision) {
  switch (precision) {
    case Precision::kTf32:
      return "tf32";
    case Precision::kFp16:
      return "fp16";
    case Precision::kBf16:
      return "bf16";
    default:
      return "float32";
  }
}

class CudaAffinityEngine final : public AffinityEngine {
 public:
  CudaAffinityEngine(const Device& device, Precision precision, CudaLog log, std::size_t sharers)
      : device_(device),
        sharers_(std::max<std::size_t>(1, sharers)),
        precision_(precision),
        memory_(std::make_shared<LayerMemory>(device)),
        preparation_(device, memory_, precision, std::move(log)) {
    spaces_.emplace_back(0);
  }

  ~CudaAffinityEngine() override {
    // Work in progress writes to memory that is about to be freed.
    static_cast<void>(cudaSetDevice(device_.index));
    static_cast<void>(cudaDeviceSynchronize());
  }

  [[nodiscard]] std::unique_ptr<PreparedLayer> prepare(const FactorWeights& weights) const override {
    return preparation_.prepare(weights);
  }

  void compute(std::span<const LayerBlock> blocks) const override {
    const std::lock_guard lock(mutex_);
    device_.use();
    std::size_t count = 0;
    for (const LayerBlock& block : blocks) count += norm_count(block);
    if (count == 0) return;
    const std::size_t bytes = count * sizeof(float);
    NormSpace& space = space_for(bytes);
    float* const norms = space.made.as<float>() + space.used / sizeof(float);
    float* const arrived = space.arrived.as<float>() + space.used / sizeof(float);
    space.used += bytes;
    float* next = norms;
    for (const LayerBlock& block : blocks) {
      begin(block, next);
      next += norm_count(block);
    }
    for (const Lane& lane : lanes_) {
      lane.done.record(lane.stream);
      lane.done.hold(download_);
    }
    check(cudaMemcpyAsync(arrived, norms, bytes, cudaMemcpyDeviceToHost, download_.get()),
          "cannot copy from the device");
    pending_.push_back({{blocks.begin(), blocks.end()}, arrived});
  }

  void wait() const override {
    const std::lock_guard lock(mutex_);
    device_.use();
    download_.wait();
    for (const Pending& pending : pending_) {
      const float* norms = pending.arrived;
      for (const LayerBlock& block : pending.blocks) {
        const std::size_t rows = on_device(*block.source).heads;
        const std::size_t columns = on_device(*block.target).heads;
        for (std::size_t i = 0; i < rows; ++i) {
          std::copy_n(norms + i * columns, columns, block.out + i * block.out_stride);
        }
        norms += rows * columns;
      }
    }
    pending_.clear();
    for (NormSpace& space : spaces_) space.used = 0;
  }

  [[nodiscard]] std::size_t layer_bytes(std::size_t heads, std::size_t d_model, std::size_t d_head) const override {
    const std::size_t sums = has_halves(precision_, heads, d_model, d_head) ? sums_bytes(heads, d_model, d_head) : 0;
    return factor_bytes(heads, d_model, d_head) + sums;
  }

  // Ignores `wanted`: the budget for host memory says nothing about device memory.
  [[nodiscard]] std::size_t capacity(std::size_t /*wanted*/) const override {
    // A fiftieth is reserved for rounding by the driver and for norms being transferred.
    const std::size_t context = sharers_ > 1 ? kContext : 0;
    const std::size_t reserved = preparation_.still_needed() + device_.memory / 50 + context;
    // What other processes hold now says nothing about what they will need.
    const std::size_t share = device_.memory / sharers_;
    const std::size_t there = std::min(device_.free_memory() + memory_->held(), share);
    return there - std::min(there, reserved);
  }

  [[nodiscard]] std::vector<std::byte> pack(const PreparedLayer& prepared) const override {
    const DeviceLayer& layer = on_device(prepared);
    const PackedHeader header{static_cast<std::uint64_t>(precision_), layer.heads, layer.d, layer.h,
                              layer.bases ? std::uint64_t{1} : 0};
    std::vector<std::byte> bytes;
    const auto add = [&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); };
    add(std::as_bytes(std::span(&header, 1)));
    add(std::as_bytes(std::span(layer.ranks)));
    add(std::as_bytes(std::span(layer.moments)));
    const std::size_t factors = factor_bytes(layer.heads, layer.d, layer.h);
    bytes.resize(bytes.size() + factors);
    preparation_.download(layer, std::span(bytes).last(factors));
    return bytes;
  }

  [[nodiscard]] std::unique_ptr<PreparedLayer> unpack(std::span<const std::byte> bytes) const override {
    PackedHeader header{};
    const auto fail = [] {
      throw Error(
          ErrorKind::kBackend,
          "cuda: a packed layer has another precision or is truncated; are all ranks running the same command?");
    };
    if (bytes.size() < sizeof header) fail();
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::size_t ranks = header.heads * sizeof(std::size_t);
    const std::size_t moments = header.heads * sizeof(GramMoments);
    const std::size_t factors = factor_bytes(header.heads, header.d, header.h);
    if (header.precision != static_cast<std::uint64_t>(precision_)) fail();
    if (bytes.size() != sizeof header + ranks + moments + factors) fail();
    auto layer = preparation_.upload(bytes.last(factors), header.heads, header.d, header.h);
    layer->bases = header.bases != 0;
    layer->ranks.resize(header.heads);
    layer->moments.resize(header.heads);
    std::memcpy(layer->ranks.data(), bytes.data() + sizeof header, ranks);
    std::memcpy(layer->moments.data(), bytes.data() + sizeof header + ranks, moments);
    return layer;
  }

  [[nodiscard]] std::string name() const override {
    return fmt::format("cuda {}, {}", name_of(precision_), device_.name);
  }

 private:
  [[nodiscard]] std::size_t factor_bytes(std::size_t heads, std::size_t d, std::size_t h) const noexcept {
    return heads * d * h * number_bytes(precision_);
  }
  [[nodiscard]] std::size_t sums_bytes(std::size_t heads, std::size_t d, std::size_t h) const noexcept {
    return factor_bytes(heads, d, h) / 4 * kHalfSums;
  }

  [[nodiscard]] NormSpace& space_for(std::size_t bytes) const {
    for (NormSpace& space : spaces_) {
      if (space.left() >= bytes) return space;
    }
    return spaces_.emplace_back(bytes);
  }

  // Queues the tiles of one block. The tiling depends only on the two layers, and hence so do the bits of the norms.
  void begin(const LayerBlock& block, float* norms) const {
    const DeviceLayer& source = on_device(*block.source);
    const DeviceLayer& target = on_device(*block.target);
    assert(source.d == target.d);
    const bool mirrored = block.source == block.target;
    if (!mirrored && uses_strassen(source) && uses_strassen(target)) return begin_halves(source, target, norms);
    const Cut rows(source.heads, source.h, mirrored ? kMirroredRows : kTileRows);
    for (std::size_t r = 0; r < rows.parts; ++r) {
      const std::size_t row = rows.begin(r);
      const std::size_t first = mirrored ? row : 0;
      const Cut columns(target.heads - first, target.h, kTileColumns);
      for (std::size_t c = 0; c < columns.parts; ++c) {
        const std::size_t column = first + columns.begin(c);
        const ProductTile tile{nullptr, rows.begin(r + 1) - row, first + columns.begin(c + 1) - column, source.h,
                               target.h};
        begin(source, target, tile, {row, column, target.heads, mirrored}, norms);
      }
    }
  }

  void begin(const DeviceLayer& source, const DeviceLayer& target, ProductTile tile, const TilePlace& place,
             float* norms) const {
    Lane& lane = lanes_[next_lane_++ % lanes_.size()];
    const std::size_t m = tile.rows * tile.row_width;
    const std::size_t n = tile.columns * tile.column_width;
    lane.tile.need(std::max(kTileRows * kTileColumns, m * n) * sizeof(float));
    tile.values = lane.tile.as<float>();
    const std::size_t head_bytes = source.d * number_bytes(precision_);
    lane.blas.product(precision_, {source.memory.data() + place.row * source.h * head_bytes, m, source.d},
                      {target.memory.data() + place.column * target.h * head_bytes, n, source.d}, source.d,
                      lane.tile.as<float>());
    block_norms(tile, place, norms, lane.stream.get());
  }

  [[nodiscard]] bool uses_strassen(const DeviceLayer& layer) const {
    const auto is_full = [&](std::size_t rank) { return rank == layer.h; };
    return layer.bases && has_halves(precision_, layer.heads, layer.d, layer.h) &&
           std::ranges::all_of(layer.ranks, is_full);
  }

  [[nodiscard]] std::array<HalfFactor, kHalfProducts> halves_of(const DeviceLayer& layer, Side side) const {
    std::optional<LayerMemory::Lease>& sums = layer.half_sums[side];
    if (!sums) {
      sums.emplace(memory_->lease(sums_bytes(layer.heads, layer.d, layer.h)));
      make_half_sums(whole(layer), side == kAsSource, reinterpret_cast<float*>(sums->data()), summing_.get());
      summed_.record(summing_);
      for (const Lane& lane : lanes_) summed_.hold(lane.stream);
    }
    return half_factors(whole(layer), reinterpret_cast<const float*>(sums->data()), side == kAsSource);
  }

  // The same with seven products of halves.
  void begin_halves(const DeviceLayer& source, const DeviceLayer& target, float* norms) const {
    const auto a = halves_of(source, kAsSource);
    const auto b = halves_of(target, kAsTarget);
    const Cut rows(source.heads / 2, source.h, kHalfTile);
    const Cut columns(target.heads / 2, target.h, kHalfTile);
    for (std::size_t r = 0; r < rows.parts; ++r) {
      for (std::size_t c = 0; c < columns.parts; ++c) {
        const std::size_t row = rows.begin(r);
        const std::size_t column = columns.begin(c);
        ProductTile tile{nullptr, rows.begin(r + 1) - row, columns.begin(c + 1) - column, source.h, target.h};
        Lane& lane = lanes_[next_lane_++ % lanes_.size()];
        const std::size_t m = tile.rows * tile.row_width;
        const std::size_t n = tile.columns * tile.column_width;
        lane.tile.need(kHalfProducts * m * n * sizeof(float));
        tile.values = lane.tile.as<float>();
        for (std::size_t p = 0; p < kHalfProducts; ++p) {
          lane.blas.product(precision_, {a[p].values + row * source.h * a[p].stride, m, a[p].stride},
                            {b[p].values + column * target.h * b[p].stride, n, b[p].stride}, source.d / 2,
                            lane.tile.as<float>() + p * m * n);
        }
        block_norms_of_halves(tile, {row, column, target.heads, false}, rows.heads, columns.heads, norms,
                              lane.stream.get());
      }
    }
  }

  Device device_;
  std::size_t sharers_;
  Precision precision_;
  std::shared_ptr<LayerMemory> memory_;
  mutable Preparation preparation_;
  mutable std::mutex mutex_;  // protects everything below
  mutable std::array<Lane, kLanes> lanes_;
  mutable std::size_t next_lane_ = 0;
  Stream summing_;
  Event summed_;
  Stream download_;
  mutable std::vector<Pending> pending_;
  mutable std::vector<NormSpace> spaces_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<AffinityEngine> cuda_affinity_engine(int device, Precision precision, CudaLog log,
                                                     std::size_t sharers) {
  return std::make_unique<cuda::CudaAffinityEngine>(cuda::open_device(device), precision, std::move(log), sharers);
}

std::string cuda_device_identity(int device) {
  return cuda::open_device(device).identity;
}

}  // namespace headscope
