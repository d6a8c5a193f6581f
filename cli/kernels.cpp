#include "cli/kernels.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "headscope/base/system.h"
#include "headscope/linalg/kernels.h"

namespace headscope::cli {

void use_better_kernels(char** argv) {
  constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  const std::string kernels = better_kernels();
  if (kernels.empty() || std::getenv(kVariable) != nullptr) return;
  ::setenv(kVariable, kernels.c_str(), 1);
  ::execv(program_path().c_str(), argv);
  std::cerr << "headscope: warning: OpenBLAS does not know this processor and computes at a fraction of its speed; set "
            << kVariable << '=' << kernels << '\n';
}

}  // namespace headscope::cli
