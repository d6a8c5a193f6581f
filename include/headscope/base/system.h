#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace headscope {

// Everything that is not covered by POSIX and differs between operating systems. Tested on Linux only. macOS has its
// own code and every other system a plain fallback; neither has ever been run.

/// Number of processors that this process may use, at least 1. On Linux, taken from the affinity mask, so that
/// `taskset` and containers are respected; elsewhere, all processors of the machine.
[[nodiscard]] std::size_t available_processors() noexcept;

/// Peak memory use of this process so far, in bytes.
[[nodiscard]] std::size_t peak_memory() noexcept;

/// Path of the running program with symbolic links resolved; empty if the system does not provide it.
[[nodiscard]] std::filesystem::path program_path();

/// Creates a file that is not in the file system but can be opened by other processes through `shared_file_path`.
/// Returns its descriptor, which the caller closes; -1 with `errno` set on every system but Linux.
[[nodiscard]] int create_shared_file(const std::string& name) noexcept;

/// Returns the path under which a file that another process created with `create_shared_file` can be opened; nothing if
/// that process cannot be reached or its descriptor refers to a file of another name.
[[nodiscard]] std::optional<std::filesystem::path> shared_file_path(int process, int descriptor,
                                                                    const std::string& name);

}  // namespace headscope
