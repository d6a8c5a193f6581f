#include "headscope/io/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/base/system.h"
#include "io/descriptor.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

// The directory of a member, and the member's name in it.
struct Place {
  Descriptor folder;
  std::string name;
};

// Opens the directory that contains a member, without following links. The descriptor is -1 with `errno` set if there
// is none.
Place place_of(int folder, const fs::path& name) noexcept {
  const fs::path parent = name.parent_path();
  const int flags = O_RDONLY | O_DIRECTORY;
  const int descriptor =
      parent.empty() ? ::openat(folder, ".", flags | O_CLOEXEC) : open_beneath(folder, parent, flags);
  return {Descriptor(descriptor), name.filename().string()};
}

std::string reason(int error) {
  if (error == EXDEV || error == ELOOP) return "is or goes through a link that leads out of the folder";
  return std::strerror(error);
}

// Adds the names in a directory to `names`, sorted. Returns 0, or the value of `errno`.
int list_names(int directory, std::vector<std::string>& names) {
  const int own = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // closedir closes it
  if (own < 0) return errno;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own), ::closedir);
  if (stream == nullptr) {
    const int error = errno;
    ::close(own);
    return error;
  }
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::ranges::sort(names);
  return errno;
}

void remove_contents(int directory) {
  std::vector<std::string> names;
  list_names(directory, names);
  for (const std::string& name : names) {
    if (::unlinkat(directory, name.c_str(), 0) == 0) continue;
    const Descriptor inner(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inner) continue;
    remove_contents(inner.get());
    ::unlinkat(directory, name.c_str(), AT_REMOVEDIR);
  }
}

}  // namespace

bool is_absent(int error) noexcept {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV || error == ENAMETOOLONG;
}

bool is_member_name(const fs::path& name) noexcept {
  if (name.empty() || name.is_absolute()) return false;
  return std::ranges::none_of(name, [](const fs::path& part) { return part.empty() || part == "." || part == ".."; });
}

Folder Folder::open(const fs::path& path) {
  const int descriptor = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    throw Error(ErrorKind::kIo, fmt::format("{}: cannot open the folder: {}", path.string(), std::strerror(errno)));
  }
  return {path, descriptor};
}

Folder::Folder(Folder&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

Folder::~Folder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int Folder::find(const fs::path& name) const noexcept {
  const Place place = place_of(descriptor_, name);
  struct stat status {};
  const bool found =
      place.folder && ::fstatat(place.folder.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  return found ? 0 : errno;
}

bool Folder::has(const fs::path& name) const {
  const int error = find(name);
  if (error == 0 || is_absent(error)) return error == 0;
  throw Error(ErrorKind::kIo, fmt::format("{}: cannot open: {}", (path_ / name).string(), std::strerror(error)));
}

MappedFile Folder::map(const fs::path& name) const {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const int descriptor = open_beneath(descriptor_, name, O_RDONLY | O_NONBLOCK, 0, /*follow_links=*/true);
  if (descriptor < 0) {
    throw Error(ErrorKind::kIo, fmt::format("{}: cannot open: {}", (path_ / name).string(), reason(errno)));
  }
  return MappedFile::map(descriptor, path_ / name);
}

std::vector<std::string> Folder::list(const fs::path& name) const {
  std::vector<std::string> names;
  const Descriptor directory(open_beneath(descriptor_, name, O_RDONLY | O_DIRECTORY));
  const int error = directory ? list_names(directory.get(), names) : errno;
  if (error == 0 || is_absent(error)) return names;
  throw Error(ErrorKind::kIo,
              fmt::format("{}: cannot read the folder: {}", (path_ / name).string(), std::strerror(error)));
}

int Folder::open_for_writing(const fs::path& name, int flags) const noexcept {
  return open_beneath(descriptor_, name, flags | O_CREAT, 0666);
}

std::vector<fs::path> Folder::make_folders(const fs::path& name, bool parents_only) const {
  std::vector<fs::path> made;
  fs::path reached;
  const fs::path wanted = parents_only ? name.parent_path() : name;
  // Another process may remove a folder that it finds empty just before something is created there.
  int attempts = 10;
  const std::vector<fs::path> parts(wanted.begin(), wanted.end());
  for (std::size_t i = 0; i < parts.size();) {
    reached = i == 0 ? parts[i] : reached / parts[i];
    const Place place = place_of(descriptor_, reached);
    int error = errno;
    if (place.folder) {
      error = ::mkdirat(place.folder.get(), place.name.c_str(), 0777) == 0 ? 0 : errno;
      if (error == 0) made.push_back(reached);
      if (error == EEXIST) {
        error = Descriptor(open_beneath(descriptor_, reached, O_RDONLY | O_DIRECTORY)) ? 0 : errno;
      }
    }
    const bool again = error == ENOENT && --attempts > 0;
    i = again ? 0 : i + 1;
    if (error == 0 || again) continue;
    throw Error(is_out_of_space(error) ? ErrorKind::kResource : ErrorKind::kIo,
                fmt::format("{}: cannot create the folder: {}", (path_ / reached).string(), reason(error)));
  }
  return made;
}

int Folder::rename(const fs::path& from, const fs::path& to) const noexcept {
  const Place old_place = place_of(descriptor_, from);
  if (!old_place.folder) return errno;
  const Place new_place = place_of(descriptor_, to);
  if (!new_place.folder) return errno;
  return ::renameat(old_place.folder.get(), old_place.name.c_str(), new_place.folder.get(), new_place.name.c_str()) == 0
             ? 0
             : errno;
}

int Folder::link(const fs::path& from, const fs::path& to) const noexcept {
  const Place old_place = place_of(descriptor_, from);
  if (!old_place.folder) return errno;
  const Place new_place = place_of(descriptor_, to);
  if (!new_place.folder) return errno;
  return ::linkat(old_place.folder.get(), old_place.name.c_str(), new_place.folder.get(), new_place.name.c_str(), 0) ==
                 0
             ? 0
             : errno;
}

int Folder::remove(const fs::path& name) const noexcept {
  const Place place = place_of(descriptor_, name);
  if (!place.folder) return errno;
  if (::unlinkat(place.folder.get(), place.name.c_str(), 0) == 0) return 0;
  const int error = errno;
  if (error != EISDIR && error != EPERM) return error;  // POSIX says EPERM for a directory, Linux EISDIR
  return ::unlinkat(place.folder.get(), place.name.c_str(), AT_REMOVEDIR) == 0 ? 0 : errno;
}

int Folder::remove_folder(const fs::path& name) const noexcept {
  const Place place = place_of(descriptor_, name);
  if (!place.folder) return errno;
  return ::unlinkat(place.folder.get(), place.name.c_str(), AT_REMOVEDIR) == 0 ? 0 : errno;
}

void Folder::remove_all(const fs::path& name) const noexcept {
  if (remove(name) == 0) return;
  const Descriptor directory(open_beneath(descriptor_, name, O_RDONLY | O_DIRECTORY));
  if (!directory) return;
  remove_contents(directory.get());
  remove(name);
}

void Folder::sync_all() const {
  const int error = flush_file_system(descriptor_);
  if (error == 0) return;
  throw Error(is_out_of_space(error) ? ErrorKind::kResource : ErrorKind::kIo,
              fmt::format("{}: cannot write: {}", path_.string(), std::strerror(error)));
}

int Folder::sync(const fs::path& name) const noexcept {
  const Descriptor directory(open_beneath(descriptor_, name, O_RDONLY | O_DIRECTORY));
  if (!directory) return errno;
  while (::fsync(directory.get()) != 0) {
    if (errno == EINTR) continue;
    return errno == EINVAL || errno == ENOTSUP ? 0 : errno;
  }
  return 0;
}

}  // namespace headscope
