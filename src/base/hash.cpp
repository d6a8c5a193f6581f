#include "headscope/base/hash.h"

#include <fmt/format.h>

namespace headscope {

std::string Hash::digits() const {
  return fmt::format("{:016x}", value_);
}

}  // namespace headscope
