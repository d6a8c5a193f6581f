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

/// Opens a file or directory beneath the open directory `folder`, as openat(2) does. `name` is relative; ".." and links
/// that lead out of the folder fail with EXDEV or ELOOP. Links that stay beneath it are followed only if `follow_links`
/// is set, and only if the system can do so safely (Linux 5.6 and later); otherwise they fail with ELOOP. Returns the
/// descriptor, which the caller closes, or -1 with `errno` set.
[[nodiscard]] int open_beneath(int folder, const std::filesystem::path& name, int flags, unsigned mode = 0,
                               bool follow_links = false) noexcept;
/// The same, component by component, for systems that have no single call for it. Never follows a link.
[[nodiscard]] int open_beneath_by_component(int folder, const std::filesystem::path& name, int flags,
                                            unsigned mode = 0) noexcept;

/// Whether the value of `errno` means that a disk, a quota or a limit of file sizes is exhausted.
[[nodiscard]] bool is_out_of_space(int error) noexcept;

/// Flushes the file system of an open file or directory to disk: one call instead of one per file. Returns 0, or the
/// value of `errno`.
[[nodiscard]] int flush_file_system(int descriptor) noexcept;

}  // namespace headscope
