#pragma once

#include <functional>
#include <memory>

#include "headscope/base/ranks.h"

namespace headscope {

/// The processes that mpirun or srun has started together. One at a time; destroying it ends the use of MPI in this
/// process for good, and waits until all others do the same.
///
/// Messages of any size, in pieces that MPI can count. Large ones are moved on by a thread that sleeps most of the
/// time, since MPI itself only moves them while it is called. What ranks on one machine exchange is no message: they
/// read it where it was written.
///
/// `check` is called again and again while a rank waits for another; may throw to stop.
///
/// \throws Error  kBackend if MPI cannot be used.
[[nodiscard]] std::unique_ptr<Ranks> mpi_ranks(std::function<void()> check);

}  // namespace headscope
