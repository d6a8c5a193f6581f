#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace headscope {

// Everything that POSIX does not define and operating systems do differently. Linux is the system that is tested. macOS
// has code of its own, every other system a plain fallback; neither was ever run.

/// Number of processors that this process may use, at least 1. Linux: as its affinity mask says, so that `taskset` and
/// containers are respected. Elsewhere: all of the machine's.
[[nodiscard]] std::size_t available_processors() noexcept;

/// Largest amount of memory that this process has held so far, in bytes.
[[nodiscard]] std::size_t peak_memory() noexcept;

/// File of the running program, without symbolic links. Empty where the system does not tell.
[[nodiscard]] std::filesystem::path program_path();

/// Descriptor of a file without a place in the file system, which `shared_file_path` lets other processes open; the
/// caller closes it. -1 with `errno` set where there is no such thing: on every system but Linux.
[[nodiscard]] int create_shared_file(const std::string& name) noexcept;

/// Where a file that another process made with `create_shared_file` can be opened. Nothing if that process cannot be
/// reached, or its descriptor is a file of another name.
[[nodiscard]] std::optional<std::filesystem::path> shared_file_path(int process, int descriptor,
                                                                    const std::string& name);

}  // namespace headscope
