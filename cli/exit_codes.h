#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headscope/base/error.h"

namespace headscope::cli {

inline constexpr int kUsage = 2;
inline constexpr int kBadInput = 3;
inline constexpr int kNumerical = 4;
inline constexpr int kBackend = 5;
inline constexpr int kResource = 6;
inline constexpr int kBug = 70;

/// The exit code of an error.
[[nodiscard]] int exit_code(ErrorKind kind) noexcept;

/// An exit code and what it says.
struct ExitCode {
  int code = 0;
  std::string_view meaning;
};
/// All exit codes, ascending.
[[nodiscard]] const std::vector<ExitCode>& exit_codes();
/// All of them in one line of help.
[[nodiscard]] std::string exit_codes_line();

}  // namespace headscope::cli
