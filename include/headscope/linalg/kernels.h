#pragma once

#include <string>

namespace headscope {

/// Names the kernels that products are computed with on this machine's processors ("SkylakeX", "Haswell", ...): the
/// last bits of a product differ from one to another.
[[nodiscard]] std::string kernel_name();

/// A BLAS library that is older than the processor may not know it, and then computes with instructions of 2004, at a
/// quarter of the speed or less. The kernels that it should use instead, as OPENBLAS_CORETYPE in the environment of a
/// new process; empty if all is well.
[[nodiscard]] std::string better_kernels();

}  // namespace headscope
