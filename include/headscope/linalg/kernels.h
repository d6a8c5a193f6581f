#pragma once

#include <string>

namespace headscope {

/// Returns the name of the BLAS kernels used on this processor ("SkylakeX", "Haswell", ...). The last bits of a product
/// depend on the kernels.
[[nodiscard]] std::string kernel_name();

/// A BLAS library that is older than the processor may not recognize it and fall back to instructions from 2004, at a
/// quarter of the speed or less. Returns the kernels it should use instead, as a value for OPENBLAS_CORETYPE in the
/// environment of a new process; empty if the current kernels are fine.
[[nodiscard]] std::string better_kernels();

}  // namespace headscope
