#pragma once

#include <functional>
#include <memory>

#include "headscope/base/ranks.h"

namespace headscope {

/// Returns the ranks of MPI_COMM_WORLD, started together by mpirun or srun. Only one instance at a time; destroying it
/// finalizes MPI in this process for good, and waits until all other ranks do the same.
///
/// Messages may have any size; they are split into parts whose size an MPI count can express. Since MPI makes progress
/// on large messages only while it is called, a mostly sleeping thread polls them. Ranks on the same machine exchange
/// numbers through shared memory instead of messages and read them in place.
///
/// `check` is called repeatedly while a rank waits for another; it may throw to cancel.
///
/// \throws Error  kBackend if MPI cannot be used.
[[nodiscard]] std::unique_ptr<Ranks> mpi_ranks(std::function<void()> check);

}  // namespace headscope
