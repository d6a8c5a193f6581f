#pragma once

#include <string>

namespace headscope {

/// Names the kernels that products are computed with on this machine's processors ("SkylakeX", "Haswell", ...): the
/// last bits of a product differ from one to another.
[[nodiscard]] std::string kernel_name();

}  // namespace headscope
