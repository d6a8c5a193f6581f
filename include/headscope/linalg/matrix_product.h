#pragma once

#include "headscope/base/matrix.h"

namespace headscope {

/// Computes C = alpha A B + beta C in float32, on the calling thread. A and B may be transposed views; each needs unit
/// stride along one axis. C is not read if beta is 0.
///
/// \throws std::logic_error  if the extents do not match or a view has no unit stride.
void multiply(MatrixView a, MatrixView b, MatrixSpan c, float alpha = 1, float beta = 0);

/// The same on all threads, each computing some columns (or rows) of C.
void parallel_multiply(MatrixView a, MatrixView b, MatrixSpan c, float alpha = 1, float beta = 0);

}  // namespace headscope
