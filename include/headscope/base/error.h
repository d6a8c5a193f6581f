#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace headscope {

/// What kind of trouble an Error reports. The command line turns each kind into
/// an exit code (`exit_code` in cli/), the Python package into an exception type.
enum class ErrorKind {
  kInvalidArgument,  ///< The caller asked for something that makes no sense.
  kIo,               ///< The system could not open, read or write a file.
  kFormat,           ///< A file is malformed: what it says contradicts itself or its size.
  kUnsupported,      ///< A file is well formed but holds something headscope does not handle.
  kNumeric,          ///< NaN or Inf in the input, or no convergence where it matters.
  kBackend,          ///< A device or another process failed.
  kResource,         ///< Out of the memory budget or of disk space.
};

/// The one exception headscope throws on purpose.
///
/// The message is a single line that names the object, what was found and what
/// was expected, and where possible what to do about it.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

/// `text` with every byte that would break a one-line message (control
/// characters, DEL, malformed UTF-8) written as \xNN, and cut to about `longest`
/// bytes. Use it for whatever comes out of a file: names in hostile files hold
/// newlines and escape codes.
[[nodiscard]] std::string printable(std::string_view text, std::size_t longest = 200);

}  // namespace headscope
