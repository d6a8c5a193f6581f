#include "headscope/io/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "headscope/base/error.h"
#include "io/descriptor.h"

namespace headscope {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* what, int error) {
  const ErrorKind kind = error == ENOMEM ? ErrorKind::kResource : ErrorKind::kIo;
  throw Error(kind, fmt::format("{}: {}: {}", path.string(), what, std::strerror(error)));
}

// All maps, by their first address.
struct Maps {
  struct Map {
    std::size_t size;
    std::filesystem::path path;
  };
  std::mutex mutex;
  std::map<const std::byte*, Map> by_address;
};

Maps& maps() {
  static Maps instance;
  return instance;
}

}  // namespace

MappedFile MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail(path, "cannot open", errno);
  return map(fd, path);
}

MappedFile MappedFile::map(int fd, const std::filesystem::path& path) {
  const Descriptor closer(fd);  // the map outlives it
  struct stat status {};
  if (::fstat(fd, &status) != 0) fail(path, "cannot read its size", errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kIo, fmt::format("{}: is {}, expected a file", path.string(),
                                            S_ISDIR(status.st_mode) ? "a folder" : "not a regular file"));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {path, {}};  // mmap refuses empty maps

  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) fail(path, "cannot map", errno);
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(data), size);
  const std::scoped_lock lock(maps().mutex);
  maps().by_address.insert_or_assign(bytes.data(), Maps::Map{size, path});
  return {path, bytes};
}

MappedFile::MappedFile(std::filesystem::path path, std::span<const std::byte> bytes)
    : path_(std::move(path)), bytes_(bytes) {}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  const std::scoped_lock lock(maps().mutex);
  maps().by_address.erase(bytes_.data());
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::optional<std::filesystem::path> mapped_file_at(const void* address) {
  const std::scoped_lock lock(maps().mutex);
  const auto* byte = static_cast<const std::byte*>(address);
  auto found = maps().by_address.upper_bound(byte);
  if (found == maps().by_address.begin()) return std::nullopt;
  --found;
  // The last page of a map extends beyond the file.
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<std::size_t>(byte - found->first);
  return offset < (found->second.size + page - 1) / page * page ? std::optional(found->second.path) : std::nullopt;
}

void release_pages(std::span<const std::byte> mapped) noexcept {
  // Only whole pages inside the span: those at its ends may belong to a neighbor in use.
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(mapped.data()) % page) % page;
  if (mapped.size() < before + page) return;
  const std::span<const std::byte> whole = mapped.subspan(before, (mapped.size() - before) / page * page);
  ::madvise(const_cast<std::byte*>(whole.data()), whole.size(), MADV_DONTNEED);
}

}  // namespace headscope
