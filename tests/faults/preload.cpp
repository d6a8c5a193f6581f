// A library that stands between a program and libc (LD_PRELOAD). It counts the calls that change the file system, or
// those that open a file for reading, and makes one of them end the process or fail. Linux with glibc only.
//
//   FAULTS_COUNT  "changes" (default) or "opens": which calls are counted, from 1
//   FAULTS_LOG    a file that gets one line per counted call: its name and the path
//   FAULTS_AT     the number of the call that is disturbed
//   FAULTS_HOW    "before", "half" or "after": SIGKILL before it, after half of a write, or after it;
//                 "interrupt": SIGINT before it; or the value of errno with which it fails without being made
//   FAULTS_LASTING  if set, later calls of a kind that this errno concerns fail as well, as on a full disk
//   FAULTS_THEN_KILL  the number of a later call before which the process is killed
//
// Only files are counted: not standard output and standard error, not /proc, /sys, /dev and /etc.

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

enum class Kind { kChange, kOpen };

// What a call needs: a fault that lasts concerns the calls that need what is missing.
enum class Need { kSpace, kDescriptor, kSpaceAndDescriptor, kNothing };

struct Plan {
  Kind counted = Kind::kChange;
  long at = 0;
  std::string how;
  int error = 0;
  bool lasting = false;
  long then_kill = 0;
  int log = -1;
};

const Plan& plan() {
  static const Plan instance = [] {
    const auto value = [](const char* name) {
      const char* text = std::getenv(name);
      return std::string(text == nullptr ? "" : text);
    };
    Plan read;
    if (value("FAULTS_COUNT") == "opens") read.counted = Kind::kOpen;
    read.at = std::atol(value("FAULTS_AT").c_str());
    read.how = value("FAULTS_HOW");
    read.error = std::atoi(read.how.c_str());
    read.lasting = !value("FAULTS_LASTING").empty();
    read.then_kill = std::atol(value("FAULTS_THEN_KILL").c_str());
    const std::string log = value("FAULTS_LOG");
    if (!log.empty()) {
      read.log = static_cast<int>(
          ::syscall(SYS_openat, AT_FDCWD, log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    }
    return read;
  }();
  return instance;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// The system call itself, past all wrappers.
using Syscall = long(long, ...);
Syscall* plain_syscall() {
  static Syscall* const function = next<Syscall>("syscall");
  return function;
}

std::string path_of(int descriptor) {
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : std::string();
}

std::string path_of(int folder, const char* name) {
  if (name == nullptr) return {};
  if (folder == AT_FDCWD || name[0] == '/') return name;
  return path_of(folder) + "/" + name;
}

bool is_system_path(std::string_view path) {
  for (const std::string_view prefix : {"/proc/", "/sys/", "/dev/", "/etc/", "/memfd:"}) {
    if (path.starts_with(prefix)) return true;
  }
  return false;
}

bool is_written_file(int descriptor) {
  if (descriptor <= STDERR_FILENO) return false;
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && !is_system_path(path_of(descriptor));
}

std::atomic<long> count = 0;

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

// What is to be done with this call.
enum class Verdict { kMake, kFail, kKillHalf, kKillAfter };

Verdict consider(Kind kind, Need need, const char* call, const std::string& path) {
  const Plan& today = plan();
  if (kind != today.counted || is_system_path(path)) return Verdict::kMake;
  const long number = ++count;
  if (today.log >= 0) {
    const std::string line = std::string(call) + " " + path + "\n";
    plain_syscall()(SYS_write, today.log, line.data(), line.size());
  }
  if (today.at == 0 || number < today.at) return Verdict::kMake;
  if (number == today.at && today.how == "before") die();
  if (number == today.at && today.how == "interrupt") ::kill(::getpid(), SIGINT);
  if (number == today.at && today.how == "half") return Verdict::kKillHalf;
  if (number == today.at && today.how == "after") return Verdict::kKillAfter;
  if (today.error == 0) return Verdict::kMake;
  if (number == today.then_kill) die();
  const bool concerned = today.error == EIO || need == Need::kSpaceAndDescriptor ||
                         (today.error == ENOSPC && need == Need::kSpace) ||
                         (today.error == EMFILE && need == Need::kDescriptor);
  return number == today.at || (today.lasting && concerned) ? Verdict::kFail : Verdict::kMake;
}

// Makes a call that may be disturbed. `half` makes half of it.
template <typename Make, typename Half>
long disturbed(Kind kind, Need need, const char* call, const std::string& path, const Make& make, const Half& half) {
  const Verdict verdict = consider(kind, need, call, path);
  if (verdict == Verdict::kFail) {
    errno = plan().error;
    return -1;
  }
  if (verdict == Verdict::kKillHalf) {
    half();
    die();
  }
  const long result = make();
  if (verdict == Verdict::kKillAfter) die();
  return result;
}

template <typename Make>
long disturbed(Kind kind, Need need, const char* call, const std::string& path, const Make& make) {
  return disturbed(kind, need, call, path, make, [] {});
}

template <typename Make>
long changing(Need need, const char* call, const std::string& path, const Make& make) {
  return disturbed(Kind::kChange, need, call, path, make);
}

template <typename Make>
long opening(const char* call, const std::string& path, unsigned long flags, const Make& make) {
  const bool writes = (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0;
  const std::string name = std::string(call) + ((flags & O_CREAT) != 0 ? ":create" : writes ? ":write" : ":read");
  const Need need = (flags & O_CREAT) != 0 ? Need::kSpaceAndDescriptor : Need::kDescriptor;
  return disturbed(writes ? Kind::kChange : Kind::kOpen, need, name.c_str(), path, make);
}

long open_in(const char* call, int folder, const char* path, int flags, mode_t mode) {
  return opening(call, path_of(folder, path), static_cast<unsigned long>(flags),
                 [&] { return plain_syscall()(SYS_openat, folder, path, flags, mode); });
}

mode_t mode_argument(int flags, va_list& arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return static_cast<int>(open_in("open", AT_FDCWD, path, flags, mode));
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return static_cast<int>(open_in("open", AT_FDCWD, path, flags, mode));
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return static_cast<int>(open_in("openat", folder, path, flags, mode));
}

int openat64(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return static_cast<int>(open_in("openat", folder, path, flags, mode));
}

int creat(const char* path, mode_t mode) {
  return static_cast<int>(open_in("creat", AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode));
}

long syscall(long number, ...) noexcept {
  va_list arguments;
  va_start(arguments, number);
  std::array<long, 6> words{};
  for (long& word : words) word = va_arg(arguments, long);
  va_end(arguments);
  const auto make = [&] { return plain_syscall()(number, words[0], words[1], words[2], words[3], words[4], words[5]); };
  if (number != SYS_openat2) return make();
  const auto* path = std::bit_cast<const char*>(words[1]);
  const auto* how = std::bit_cast<const open_how*>(words[2]);
  return opening("openat2", path_of(static_cast<int>(words[0]), path), how->flags, make);
}

// Streams of libstdc++ and C.
FILE* fopen(const char* path, const char* mode) {
  FILE* file = nullptr;
  const bool reads = mode[0] == 'r' && std::strchr(mode, '+') == nullptr;
  opening("fopen", path, reads ? O_RDONLY : O_WRONLY | O_CREAT, [&] {
    file = next<FILE*(const char*, const char*)>("fopen")(path, mode);
    return 0L;
  });
  return file;
}

FILE* fopen64(const char* path, const char* mode) {
  return fopen(path, mode);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  const auto make = [&](size_t part) { return plain_syscall()(SYS_write, descriptor, bytes, part); };
  if (!is_written_file(descriptor)) return make(size);
  return disturbed(
      Kind::kChange, Need::kSpace, "write", path_of(descriptor), [&] { return make(size); }, [&] { make(size / 2); });
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  const auto make = [&](size_t part) { return plain_syscall()(SYS_pwrite64, descriptor, bytes, part, offset); };
  if (!is_written_file(descriptor)) return make(size);
  return disturbed(
      Kind::kChange, Need::kSpace, "pwrite", path_of(descriptor), [&] { return make(size); }, [&] { make(size / 2); });
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off_t offset) {
  return pwrite(descriptor, bytes, size, offset);
}

ssize_t writev(int descriptor, const iovec* parts, int number) {
  const auto make = [&](int some) { return plain_syscall()(SYS_writev, descriptor, parts, some); };
  if (!is_written_file(descriptor)) return make(number);
  return disturbed(
      Kind::kChange, Need::kSpace, "writev", path_of(descriptor), [&] { return make(number); },
      [&] { make(number / 2); });
}

int close(int descriptor) {
  const auto make = [&] { return plain_syscall()(SYS_close, descriptor); };
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || !is_written_file(descriptor)) return static_cast<int>(make());
  const std::string path = path_of(descriptor);
  const Verdict verdict = consider(Kind::kChange, Need::kSpace, "close", path);
  const long result = make();  // Linux closes the descriptor even if it reports an error
  if (verdict == Verdict::kKillHalf || verdict == Verdict::kKillAfter) die();
  if (verdict == Verdict::kMake) return static_cast<int>(result);
  errno = plan().error;
  return -1;
}

int syncfs(int descriptor) {
  return static_cast<int>(
      changing(Need::kSpace, "syncfs", path_of(descriptor), [&] { return plain_syscall()(SYS_syncfs, descriptor); }));
}

int fsync(int descriptor) {
  return static_cast<int>(
      changing(Need::kSpace, "fsync", path_of(descriptor), [&] { return plain_syscall()(SYS_fsync, descriptor); }));
}

int fdatasync(int descriptor) {
  return static_cast<int>(changing(Need::kSpace, "fdatasync", path_of(descriptor),
                                   [&] { return plain_syscall()(SYS_fdatasync, descriptor); }));
}

int ftruncate(int descriptor, off_t size) noexcept {
  return static_cast<int>(changing(Need::kSpace, "ftruncate", path_of(descriptor),
                                   [&] { return plain_syscall()(SYS_ftruncate, descriptor, size); }));
}

int fallocate(int descriptor, int mode, off_t offset, off_t size) {
  return static_cast<int>(changing(Need::kSpace, "fallocate", path_of(descriptor),
                                   [&] { return plain_syscall()(SYS_fallocate, descriptor, mode, offset, size); }));
}

int renameat2(int old_folder, const char* old_name, int new_folder, const char* new_name, unsigned flags) noexcept {
  return static_cast<int>(changing(Need::kSpace, "rename", path_of(new_folder, new_name), [&] {
    return plain_syscall()(SYS_renameat2, old_folder, old_name, new_folder, new_name, flags);
  }));
}

int renameat(int old_folder, const char* old_name, int new_folder, const char* new_name) noexcept {
  return renameat2(old_folder, old_name, new_folder, new_name, 0);
}

int rename(const char* old_name, const char* new_name) noexcept {
  return renameat2(AT_FDCWD, old_name, AT_FDCWD, new_name, 0);
}

int linkat(int old_folder, const char* old_name, int new_folder, const char* new_name, int flags) noexcept {
  return static_cast<int>(changing(Need::kSpace, "link", path_of(new_folder, new_name), [&] {
    return plain_syscall()(SYS_linkat, old_folder, old_name, new_folder, new_name, flags);
  }));
}

int link(const char* old_name, const char* new_name) noexcept {
  return linkat(AT_FDCWD, old_name, AT_FDCWD, new_name, 0);
}

int symlinkat(const char* target, int folder, const char* name) noexcept {
  return static_cast<int>(changing(Need::kSpace, "symlink", path_of(folder, name),
                                   [&] { return plain_syscall()(SYS_symlinkat, target, folder, name); }));
}

int symlink(const char* target, const char* name) noexcept {
  return symlinkat(target, AT_FDCWD, name);
}

int mkdirat(int folder, const char* name, mode_t mode) noexcept {
  return static_cast<int>(changing(Need::kSpace, "mkdir", path_of(folder, name),
                                   [&] { return plain_syscall()(SYS_mkdirat, folder, name, mode); }));
}

int mkdir(const char* name, mode_t mode) noexcept {
  return mkdirat(AT_FDCWD, name, mode);
}

int unlinkat(int folder, const char* name, int flags) noexcept {
  return static_cast<int>(changing(Need::kNothing, "unlink", path_of(folder, name),
                                   [&] { return plain_syscall()(SYS_unlinkat, folder, name, flags); }));
}

int unlink(const char* name) noexcept {
  return unlinkat(AT_FDCWD, name, 0);
}

int rmdir(const char* name) noexcept {
  return unlinkat(AT_FDCWD, name, AT_REMOVEDIR);
}

// What std::filesystem::remove calls; libc's own would not come by here.
int remove(const char* name) noexcept {
  if (unlink(name) == 0) return 0;
  return errno == EISDIR ? rmdir(name) : -1;
}

}  // extern "C"
