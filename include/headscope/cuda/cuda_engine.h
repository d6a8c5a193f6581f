#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "headscope/organize/tree_distance.h"
#include "headscope/relate/affinity_engine.h"

namespace headscope {

/// In what the big products are computed. Sums are float32 throughout; what differs is how the two factors are
/// rounded, to nearest, before they are multiplied. With it differs the error of a projection kernel, relative to its
/// value or to what random subspaces have in common, p q / d, where that is more:
enum class Precision {
  kFloat32,  ///< Not at all: 1e-5.
  kTf32,     ///< To 11 significant bits: 1e-3.
  kFp16,     ///< To 11 as well, in half the memory and time: 1e-3. Factors have no entry above 1, so that half's range,
             ///< which is made to begin at 2^-28, leaves out nothing that could be seen.
  kBf16,     ///< To 8: 1e-2. Memory and time as half.
};

/// What a person may want to know of a run: one line a call.
using CudaLog = std::function<void(const std::string&)>;

/// Prepares and multiplies heads on a CUDA device of compute capability 8.0 or later.
///
/// Bases are made on the device in float64: Cholesky QR twice where the condition number leaves no doubt that all
/// singular values count, eigenvectors of the Gram matrix and one more Cholesky QR where it does, which `log` hears
/// of. So ranks and bases are those of `orthonormal_basis`, up to rounding. Factors are kept in the precision of the
/// products. Weights go up in pinned pieces while products that were begun before go on.
///
/// Products are computed in tiles that stay in the device's cache, where the sums of squares of their blocks find
/// them, on several streams in turn. Only blocks that are asked for are computed. The same two layers give the same
/// bits, whatever else is computed.
///
/// One thread may prepare while another one computes. Where several processes use the device at the same time, each
/// takes its share of the memory.
///
/// \throws Error  kBackend if there is no such device, its driver is too old, it is not of the capability needed or it
///                is out of memory; `prepare` also kNumeric, as `orthonormal_basis`.
[[nodiscard]] std::unique_ptr<AffinityEngine> cuda_affinity_engine(int device = 0,
                                                                   Precision precision = Precision::kTf32,
                                                                   CudaLog log = {}, std::size_t sharers = 1);

/// What tells a device from all others, on whatever machine: processes that get the same one share it.
///
/// \throws Error  kBackend as above.
[[nodiscard]] std::string cuda_device_identity(int device = 0);

/// Tree distances on a CUDA device. Features are float, made of sums in double; their differences are added up in
/// float over 256 of them, in double beyond. Every run gives the same bits. Within 1e-5 of `cpu_tree_distance`,
/// relative to the largest distance. The tensor, and a second one where presence differs between slices, has
/// to fit the device.
///
/// \throws Error  kBackend as above.
[[nodiscard]] std::unique_ptr<TreeDistance> cuda_tree_distance(int device = 0);

}  // namespace headscope
