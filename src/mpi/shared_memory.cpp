#include "mpi/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "headscope/base/error.h"

namespace headscope {
namespace {

// The file that the system shows in place of the memory.
std::string file_name(std::uint64_t name) {
  return fmt::format("headscope-{:016x}", name);
}

std::span<std::byte> map(int descriptor, std::size_t size) noexcept {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return {};
  return {static_cast<std::byte*>(memory), size};
}

[[noreturn]] void fail(const char* call) {
  throw Error(ErrorKind::kBackend, fmt::format("no memory for ranks to share: {}: {}", call, std::strerror(errno)));
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes) {
  std::uint64_t name = 0;
  if (::getrandom(&name, sizeof name, 0) != sizeof name) fail("getrandom");
  own_ = ::memfd_create(file_name(name).c_str(), MFD_CLOEXEC);
  if (own_ < 0) fail("memfd_create");
  address_ = {static_cast<std::int32_t>(::getpid()), own_, name, bytes};
  if (::ftruncate(own_, static_cast<off_t>(bytes)) == 0) bytes_ = map(own_, bytes);
  if (bytes_.empty()) {
    const int reason = errno;
    ::close(own_);
    errno = reason;
    fail("mmap");
  }
}

// The process may be another one that has the same number elsewhere: the name tells.
std::optional<SharedMemory> SharedMemory::open(const Address& address) {
  const std::string path = fmt::format("/proc/{}/fd/{}", address.process, address.descriptor);
  std::array<char, 64> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0) return std::nullopt;
  const std::string found(target.data(), static_cast<std::size_t>(length));
  if (!found.starts_with("/memfd:" + file_name(address.name))) return std::nullopt;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  SharedMemory result;
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && static_cast<std::uint64_t>(status.st_size) == address.size) {
    result.bytes_ = map(descriptor, address.size);
  }
  ::close(descriptor);
  if (result.bytes_.empty()) return std::nullopt;
  result.address_ = address;
  return result;
}

SharedMemory::~SharedMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
  if (own_ >= 0) ::close(own_);
}

void SharedMemory::swap(SharedMemory& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(own_, other.own_);
}

}  // namespace headscope
