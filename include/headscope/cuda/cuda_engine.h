#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "headscope/organize/tree_distance.h"
#include "headscope/relate/affinity_engine.h"

namespace headscope {

/// Precision of the large matrix products. Accumulation is always float32; the precisions differ in how the two factors
/// are rounded (to nearest) before they are multiplied. The numbers below are the error of a projection kernel relative
/// to its value or to the expected overlap of random subspaces, p q / d, whichever is larger.
enum class Precision {
  kFloat32,  ///< No rounding: 1e-5.
  kTf32,     ///< 11 significant bits: 1e-3.
  kFp16,  ///< 11 significant bits, in half the memory and time: 1e-3. Factor entries are at most 1 and stored scaled by
          ///< 2^14, so that half's range starts at 2^-28 and nothing significant is lost.
  kBf16,  ///< 8 significant bits: 1e-2. Memory and time as kFp16.
};

/// Receives human-readable log lines, one per call.
using CudaLog = std::function<void(const std::string&)>;

/// Prepares and multiplies heads on a CUDA device of compute capability 8.0 or later.
///
/// Bases are computed on the device in float64: by Cholesky QR, repeated for ill-conditioned heads, if a bound on the
/// condition number proves that all singular values count; otherwise from eigenvectors of the Gram matrix followed by
/// one Cholesky QR, which is reported to `log`. Ranks and bases therefore equal those of `orthonormal_basis` up to
/// rounding. Factors are stored in the precision of the products. Weights are uploaded in pinned pieces while earlier
/// products are still running.
///
/// Products are computed on several streams in rotation, in tiles that stay in the device's cache until the squares of
/// their blocks are summed. Only the requested blocks are computed. The same two layers always give the same bits,
/// whatever else is computed.
///
/// One thread may prepare while another computes. If several processes share the device (`sharers`), each uses its
/// share of the memory.
///
/// \throws Error  kBackend if there is no such device, its driver is too old, its compute capability is too low or it
///                is out of memory; `prepare` also kNumeric, as `orthonormal_basis`.
[[nodiscard]] std::unique_ptr<AffinityEngine> cuda_affinity_engine(int device = 0,
                                                                   Precision precision = Precision::kTf32,
                                                                   CudaLog log = {}, std::size_t sharers = 1);

/// Returns an identifier that is unique across machines: processes that get the same one share the device.
///
/// \throws Error  kBackend as above.
[[nodiscard]] std::string cuda_device_identity(int device = 0);

/// Computes tree distances on a CUDA device. Features are float, computed from sums in double; their differences are
/// summed in float over at most 256 features and in fixed point beyond that, so every run gives the same bits. Within
/// 1e-5 of `cpu_tree_distance`, relative to the largest distance. The tensor must fit into device memory, plus one byte
/// per entry if presence differs between slices.
///
/// \throws Error  kBackend as above.
[[nodiscard]] std::unique_ptr<TreeDistance> cuda_tree_distance(int device = 0);

}  // namespace headscope
