#include "headscope/io/path_exists.h"

#include <fmt/format.h>

#include <system_error>

#include "headscope/base/error.h"

namespace headscope {

bool path_exists(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return false;
  if (error) {
    throw Error(ErrorKind::kIo, fmt::format("{}: cannot access: {}", printable(path.string()), error.message()));
  }
  return true;
}

}  // namespace headscope
