#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace headscope {

/// Rejects the pointer text that git-lfs leaves in place of a file it has not fetched.
/// \throws Error  kIo; the message says how large the file would be and how to get it.
void reject_git_lfs_pointer(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace headscope
