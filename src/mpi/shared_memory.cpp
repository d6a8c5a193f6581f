#include "mpi/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/base/system.h"

namespace headscope {
namespace {

// Name of the file that represents the memory.
std::string file_name(std::uint64_t name) {
  return fmt::format("headscope-{:016x}", name);
}

std::span<std::byte> map(int descriptor, std::size_t size) noexcept {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return {};
  return {static_cast<std::byte*>(memory), size};
}

[[noreturn]] void fail(const char* call) {
  throw Error(ErrorKind::kBackend, fmt::format("cannot allocate shared memory: {}: {}", call, std::strerror(errno)));
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes) {
  std::random_device random;
  const std::uint64_t name = std::uint64_t{random()} << 32 | random();
  own_ = create_shared_file(file_name(name));
  if (own_ < 0) fail("create");
  address_ = {static_cast<std::int32_t>(::getpid()), own_, name, bytes};
  if (::ftruncate(own_, static_cast<off_t>(bytes)) == 0) bytes_ = map(own_, bytes);
  if (bytes_.empty()) {
    const int reason = errno;
    ::close(own_);
    errno = reason;
    fail("mmap");
  }
}

// The process ID may belong to an unrelated process on another machine; the random name tells them apart.
std::optional<SharedMemory> SharedMemory::open(const Address& address) {
  const auto path = shared_file_path(address.process, address.descriptor, file_name(address.name));
  if (!path) return std::nullopt;
  const int descriptor = ::open(path->c_str(), O_RDWR | O_CLOEXEC);
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
