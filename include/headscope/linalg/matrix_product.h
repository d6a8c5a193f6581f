#pragma once

#include "headscope/base/matrix.h"

namespace headscope {

/// C = alpha A B + beta C in float32, on the calling thread. A and B may be transposed views: each needs unit stride
/// along one axis. C is not read where beta is 0.
///
/// \throws std::logic_error  if the extents do not fit each other or a view has no unit stride.
void multiply(MatrixView a, MatrixView b, MatrixSpan c, float alpha = 1, float beta = 0);

/// The same on all threads, each computing some of the columns (or rows) of C.
void parallel_multiply(MatrixView a, MatrixView b, MatrixSpan c, float alpha = 1, float beta = 0);

}  // namespace headscope
