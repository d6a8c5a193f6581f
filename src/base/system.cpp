#include "headscope/base/system.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>
#include <thread>

#if defined(__linux__)
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#elif defined(__APPLE__)
#include <mach-o/dyld.h>

#include <cstdint>
#include <vector>
#endif

namespace headscope {

std::size_t available_processors() noexcept {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(CPU_COUNT(&set)));
  }
#endif
  return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

std::size_t peak_memory() noexcept {
#if defined(__APPLE__)
  constexpr std::size_t kUnit = 1;
#else
  constexpr std::size_t kUnit = 1024;
#endif
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * kUnit;
}

std::filesystem::path program_path() {
  std::error_code error;
#if defined(__linux__)
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : path;
#elif defined(__APPLE__)
  std::uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);
  std::vector<char> path(size + 1);
  if (_NSGetExecutablePath(path.data(), &size) != 0) return {};
  return std::filesystem::canonical(path.data(), error);
#else
  return {};
#endif
}

int create_shared_file([[maybe_unused]] const std::string& name) noexcept {
#if defined(__linux__)
  return ::memfd_create(name.c_str(), MFD_CLOEXEC);
#else
  errno = ENOSYS;
  return -1;
#endif
}

std::optional<std::filesystem::path> shared_file_path([[maybe_unused]] int process, [[maybe_unused]] int descriptor,
                                                      [[maybe_unused]] const std::string& name) {
#if defined(__linux__)
  const std::filesystem::path path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
  std::error_code error;
  const std::string target = std::filesystem::read_symlink(path, error).string();
  if (!error && target.starts_with("/memfd:" + name)) return path;
#endif
  return std::nullopt;
}

int open_beneath(int folder, const std::filesystem::path& name, int flags, unsigned mode,
                 [[maybe_unused]] bool follow_links) noexcept {
#if defined(__linux__) && defined(SYS_openat2)
  open_how how{};
  how.flags = static_cast<decltype(how.flags)>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (follow_links ? 0 : RESOLVE_NO_SYMLINKS);
  // The kernel answers EAGAIN if a folder was renamed while it looked.
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const long descriptor = ::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how);
    if (descriptor >= 0) return static_cast<int>(descriptor);
    if (errno != EAGAIN && errno != EINTR) break;
  }
  // ENOSYS: an old kernel; EPERM: a sandbox that does not know the call.
  if (errno != ENOSYS && errno != EPERM) return -1;
#endif
  return open_beneath_by_component(folder, name, flags, mode);
}

int open_beneath_by_component(int folder, const std::filesystem::path& name, int flags, unsigned mode) noexcept {
  if (name.empty() || name.is_absolute()) {
    errno = name.empty() ? ENOENT : EXDEV;
    return -1;
  }
  int reached = folder;
  for (auto part = name.begin(); part != name.end(); ++part) {
    const bool last = std::next(part) == name.end();
    int next = -1;
    if (*part == ".." || part->empty()) {
      errno = EXDEV;
    } else if (last) {
      next = ::openat(reached, part->c_str(), flags | O_NOFOLLOW | O_CLOEXEC, static_cast<mode_t>(mode));
    } else {
      next = ::openat(reached, part->c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      // A link is not a directory to this call; to the caller it is a link.
      if (next < 0 && errno == ENOTDIR) errno = ELOOP;
    }
    const int error = errno;
    if (reached != folder) ::close(reached);
    if (next < 0) {
      errno = error;
      return -1;
    }
    reached = next;
  }
  return reached;
}

bool is_out_of_space(int error) noexcept {
  return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

int flush_file_system([[maybe_unused]] int descriptor) noexcept {
#if defined(__linux__)
  return ::syncfs(descriptor) == 0 ? 0 : errno;
#else
  ::sync();
  return 0;
#endif
}

}  // namespace headscope
