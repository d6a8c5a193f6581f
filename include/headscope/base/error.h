#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace headscope {

/// The kind of failure an Error reports. The command line maps each kind to an exit code (`exit_code` in cli/), the
/// Python package to an exception type.
enum class ErrorKind {
  kInvalidArgument,  ///< The caller's request is invalid.
  kIo,               ///< The system could not open, read or write a file.
  kFormat,           ///< A file is malformed: its contents contradict each other or the file's size.
  kUnsupported,      ///< A file is well-formed but contains something headscope does not support.
  kNumeric,          ///< NaN or Inf in the input, or no convergence where it matters.
  kBackend,          ///< A device or another process failed.
  kResource,         ///< The memory budget or the disk space is exhausted.
};

/// The exception type that headscope throws deliberately.
///
/// The message is a single line that names the object, what was found and what was expected, and where possible what to
/// do about it.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

/// Returns `text` with every byte that would break a one-line message (control characters, DEL, malformed UTF-8)
/// written as `\xNN`, truncated to about `longest` bytes. Use it for any text that comes from a file: names in hostile
/// files contain newlines and escape codes.
[[nodiscard]] std::string printable(std::string_view text, std::size_t longest = 200);

}  // namespace headscope
