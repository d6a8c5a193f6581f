#include "headscope/io/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/base/system.h"
#include "io/descriptor.h"

namespace headscope {
namespace {

std::atomic<std::uint64_t> next_number{0};

// The part of a file's name that its temporary name contains.
std::string kept_name(const std::filesystem::path& path) {
  // File names are limited to 255 bytes, and the temporary name is longer than the final one.
  constexpr std::size_t kMaxKeptLength = 180;
  return path.filename().string().substr(0, kMaxKeptLength);
}

std::filesystem::path temporary_path(const std::filesystem::path& path) {
  return path.parent_path() / fmt::format(".{}.{}.{}.tmp", kept_name(path), ::getpid(), next_number++);
}

// The number of the process that made a temporary file of `target`; 0 if it is not the name of one.
pid_t maker_of(const std::string& file, const std::string& prefix) {
  constexpr std::string_view kSuffix = ".tmp";
  if (!file.starts_with(prefix) || !file.ends_with(kSuffix)) return 0;
  pid_t process = 0;
  const auto [rest, error] = std::from_chars(file.data() + prefix.size(), file.data() + file.size(), process);
  return error == std::errc() && *rest == '.' && process > 0 ? process : 0;
}

// Removes the temporary files of processes that were killed. One that exists on another machine, with the same disk,
// has a lock on its file.
void remove_orphans(const std::filesystem::path& target) noexcept {
  try {
    const std::filesystem::path folder = target.parent_path();
    const std::string prefix = fmt::format(".{}.", kept_name(target));
    for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder)) {
      const pid_t maker = maker_of(entry.path().filename().string(), prefix);
      if (maker == 0 || ::kill(maker, 0) == 0 || errno != ESRCH) continue;
      const Descriptor file(::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
    }
  } catch (const std::exception&) {
    return;  // what cannot be listed or removed stays
  }
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)), target_(path_) {
  if (!path_.has_filename()) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("'{}' does not name a file to write", path_.string()));
  }
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path_, ignored);
  direct_ = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
            !std::filesystem::is_directory(status);
  if (direct_) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot open", errno);
    return;
  }
  if (std::filesystem::is_symlink(path_, ignored)) target_ = std::filesystem::weakly_canonical(path_, ignored);
  remove_orphans(target_);
  // A crashed process with our process number may have left a file behind: try the next counter.
  constexpr int kAttempts = 100;
  int error = EEXIST;
  for (int attempt = 0; attempt < kAttempts && error == EEXIST; ++attempt) {
    temporary_ = temporary_path(target_);
    descriptor_ = open_temporary(O_WRONLY | O_CREAT | O_EXCL);
    if (descriptor_ >= 0) {
      static_cast<void>(::flock(descriptor_, LOCK_EX | LOCK_NB));  // see remove_orphans
      removal_ = std::make_shared<EmergencyAction>([path = temporary_] { ::unlink(path.c_str()); });
      return;
    }
    error = errno;
    temporary_.clear();
  }
  fail("cannot create", error);
}

AtomicFile::AtomicFile(std::shared_ptr<const Folder> folder, std::string temporary, std::filesystem::path path)
    : path_(std::move(path)), temporary_(std::move(temporary)), folder_(std::move(folder)) {
  descriptor_ = open_temporary(O_WRONLY | O_CREAT | O_TRUNC);
  if (descriptor_ < 0) fail("cannot create", errno);
}

AtomicFile::AtomicFile(std::filesystem::path path, std::shared_ptr<std::vector<std::byte>> memory)
    : path_(std::move(path)), memory_(std::move(memory)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      folder_(std::move(other.folder_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      removal_(std::move(other.removal_)),
      direct_(other.direct_),
      failure_(other.failure_.load()),
      memory_(std::move(other.memory_)) {}

AtomicFile::~AtomicFile() {
  discard();
}

int AtomicFile::open_temporary(int flags) const noexcept {
  if (folder_) return folder_->open_for_writing(temporary_, flags);
  return ::open(temporary_.c_str(), flags | O_CLOEXEC, 0666);
}

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (temporary_.empty()) return;
  if (folder_) {
    folder_->remove(temporary_);
  } else {
    ::unlink(temporary_.c_str());
  }
  temporary_.clear();
  removal_.reset();
}

void AtomicFile::fail(const char* what, int error) {
  failure_ = error;
  discard();
  throw Error(is_out_of_space(error) ? ErrorKind::kResource : ErrorKind::kIo,
              fmt::format("{}: {}: {}", path_.string(), what, std::strerror(error)));
}

void AtomicFile::write_memory(std::size_t offset, std::span<const std::byte> bytes) {
  if (memory_->size() < offset + bytes.size()) memory_->resize(offset + bytes.size());
  std::ranges::copy(bytes, memory_->begin() + static_cast<std::ptrdiff_t>(offset));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (memory_) return write_memory(memory_->size(), bytes);
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    } else if (written == 0) {
      fail("cannot write", EIO);  // a regular file accepts at least one byte or reports an error
    } else if (errno != EINTR) {
      fail("cannot write", errno);
    }
  }
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void AtomicFile::release() noexcept {
  if (descriptor_ >= 0 && ::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) failure_ = errno;
}

void AtomicFile::write_at(std::size_t offset, std::span<const std::byte> bytes) {
  if (memory_) return write_memory(offset, bytes);
  // Other threads may be writing too: a file that is open stays open, even after an error here; one that is closed is
  // opened for this call only.
  const bool is_open = descriptor_ >= 0;
  const int descriptor = is_open ? descriptor_ : open_temporary(O_WRONLY);
  int error = descriptor >= 0 ? 0 : errno;
  while (!bytes.empty() && error == 0) {
    const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
      offset += static_cast<std::size_t>(written);
    } else if (written == 0 || errno != EINTR) {
      error = written == 0 ? EIO : errno;
    }
  }
  if (!is_open && descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR && error == 0) error = errno;
  if (error == 0) return;
  failure_ = error;
  throw Error(is_out_of_space(error) ? ErrorKind::kResource : ErrorKind::kIo,
              fmt::format("{}: cannot write: {}", path_.string(), std::strerror(error)));
}

void AtomicFile::close(bool to_disk) {
  if (memory_) return;
  if (failure_ != 0) fail("cannot write", failure_);
  if (descriptor_ < 0 && !temporary_.empty()) descriptor_ = open_temporary(O_WRONLY);
  if (descriptor_ < 0) fail("cannot write", errno);
  // Without the flush, a crash after the rename could leave an empty file under the new name.
  while (to_disk && !direct_ && ::fsync(descriptor_) != 0) {
    if (errno != EINTR) fail("cannot write", errno);
  }
  // Network file systems may report a full disk only here. Linux closes the descriptor even if close fails with EINTR.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail("cannot write", errno);
}

void AtomicFile::commit() {
  if (memory_) return;
  flush();
  if (direct_) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot replace", errno);
  temporary_.clear();
  removal_.reset();
}

}  // namespace headscope
