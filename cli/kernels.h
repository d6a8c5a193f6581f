#pragma once

namespace headscope::cli {

/// Where products would be slow because the BLAS library does not know the processor, begins the program again with the
/// right kernels: the library looks at its environment once, before `main`. Does nothing if the environment names
/// kernels already. To be called first.
void use_better_kernels(char** argv);

}  // namespace headscope::cli
