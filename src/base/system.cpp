#include "headscope/base/system.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
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

}  // namespace headscope
