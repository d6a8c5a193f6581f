#include "cli/exit_codes.h"

#include <fmt/format.h>

namespace headscope::cli {

int exit_code(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
      return kUsage;
    case ErrorKind::kIo:
    case ErrorKind::kFormat:
    case ErrorKind::kUnsupported:
      return kBadInput;
    case ErrorKind::kNumeric:
      return kNumerical;
    case ErrorKind::kBackend:
      return kBackend;
    case ErrorKind::kResource:
      return kResource;
  }
  return kBug;
}

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> kCodes = {{0, "done"},
                                               {kUsage, "wrong words on the command line"},
                                               {kBadInput, "bad input: missing, malformed or unsupported"},
                                               {kNumerical, "numerical trouble"},
                                               {kBackend, "a device or another process failed"},
                                               {kResource, "out of the memory budget or disk"},
                                               {kBug, "internal error"},
                                               {130, "interrupted"}};
  return kCodes;
}

std::string exit_codes_line() {
  std::string line;
  for (const ExitCode& one : exit_codes()) {
    line += fmt::format("{}{} {}", line.empty() ? "Exit codes: " : "; ", one.code, one.meaning);
  }
  return line;
}

}  // namespace headscope::cli
