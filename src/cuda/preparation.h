#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "cuda/basis_kernels.h"
#include "cuda/blas.h"
#include "cuda/device.h"
#include "cuda/layer_memory.h"
#include "cuda/upload.h"
#include "headscope/cuda/cuda_engine.h"

namespace headscope::cuda {

/// Factors of a layer on the device: `heads` matrices of d x h, column-major, in the precision of the products.
struct DeviceLayer final : PreparedLayer {
  LayerMemory::Lease memory;
  std::size_t heads = 0;
  std::size_t d = 0;
  std::size_t h = 0;
  bool bases = false;  ///< Columns are orthonormal (or zero), as for pk.
  /// Strassen sums as a source and as a target, created by the engine when a product first needs them.
  mutable std::optional<LayerMemory::Lease> half_sums[2] = {};

  DeviceLayer(LayerMemory::Lease lease, std::size_t head_count, std::size_t d_model, std::size_t d_head)
      : memory(std::move(lease)), heads(head_count), d(d_model), h(d_head) {}
};

/// Bytes per number of a factor.
[[nodiscard]] std::size_t number_bytes(Precision precision) noexcept;

/// Prepares layers from weights on its own stream: uploads a batch of heads, converts it to double, and computes the
/// factors with matrix products and small kernels.
class Preparation {
 public:
  Preparation(const Device& device, std::shared_ptr<LayerMemory> memory, Precision precision, CudaLog log);

  /// \throws Error  kBackend, kNumeric
  [[nodiscard]] std::unique_ptr<DeviceLayer> prepare(const FactorWeights& weights);
  /// Uploads finished factors in the device's precision, as returned by `download`.
  [[nodiscard]] std::unique_ptr<DeviceLayer> upload(std::span<const std::byte> factors, std::size_t heads,
                                                    std::size_t d, std::size_t h);
  void download(const DeviceLayer& layer, std::span<std::byte> factors);

  /// Bytes of device memory that it may still allocate, not counting layers.
  [[nodiscard]] std::size_t still_needed() const;

 private:
  /// Heads of a layer that are processed together.
  struct Batch {
    const FactorWeights& weights;
    std::size_t first = 0;
    std::size_t count = 0;
  };

  [[nodiscard]] std::size_t batch_size(std::size_t d, std::size_t h, std::size_t heads) const;
  [[nodiscard]] std::byte* place(const DeviceLayer& layer, std::size_t head) const;
  void reserve(std::size_t d, std::size_t h, std::size_t count);
  [[nodiscard]] static std::vector<HostBytes> heads_of(const Batch& batch, const HeadWeights& part);
  void send(std::span<const HostBytes> heads, double* to);
  void send_batch(const Batch& batch);
  void send_products(const Batch& batch);
  void send_rotary_products(const Batch& batch);
  void send_noise(const Batch& batch);
  void find_conditions(std::size_t h, std::size_t count, const double* noise);
  void make_bases(const Batch& batch, DeviceLayer& layer);
  void make_scaled(const Batch& batch, DeviceLayer& layer);
  void replace_failed(const Batch& batch, DeviceLayer& layer);
  void report(const FactorWeights& weights, std::span<const double> conditions, double limit) const;

  Device device_;
  std::shared_ptr<LayerMemory> memory_;
  Precision precision_;
  CudaLog log_;
  mutable std::mutex mutex_;
  Stream stream_;
  Blas blas_;
  Upload upload_;
  // Per batch: [head][column][d_model] ...
  DeviceMemory columns_;
  DeviceMemory transposed_;
  // ... [head][h][h] ...
  DeviceMemory grams_;
  DeviceMemory spare_;
  DeviceMemory vectors_;
  DeviceMemory powers_;  // two each of the Gram matrices and of their inverses
  // ... and a few numbers per head.
  DeviceMemory conditions_;
  DeviceMemory logarithms_;
  DeviceMemory noise_;
  DeviceMemory traces_;
  DeviceMemory ranks_;
};

}  // namespace headscope::cuda
