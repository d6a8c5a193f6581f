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

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> names;
  const int own = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // closedir closes it
  if (own < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own), ::closedir);
  if (stream == nullptr) {
    ::close(own);
    return names;
  }
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

void remove_contents(int directory) {
  for (const std::string& name : names_in(directory)) {
    if (::unlinkat(directory, name.c_str(), 0) == 0) continue;
    const Descriptor inner(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inner) continue;
    remove_contents(inner.get());
    ::unlinkat(directory, name.c_str(), AT_REMOVEDIR);
  }
}

}  // namespace

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

bool Folder::has(const fs::path& name) const noexcept {
  const Place place = place_of(descriptor_, name);
  struct stat status {};
  return place.folder && ::fstatat(place.folder.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
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
  const Descriptor directory(open_beneath(descriptor_, name, O_RDONLY | O_DIRECTORY));
  return directory ? names_in(directory.get()) : std::vector<std::string>();
}

int Folder::open_for_writing(const fs::path& name, int flags) const noexcept {
  return open_beneath(descriptor_, name, flags | O_CREAT, 0666);
}

std::vector<fs::path> Folder::make_folders(const fs::path& name, bool parents_only) const {
  std::vector<fs::path> made;
  fs::path reached;
  const fs::path wanted = parents_only ? name.parent_path() : name;
  for (const fs::path& part : wanted) {
    reached /= part;
    const Place place = place_of(descriptor_, reached);
    int error = errno;
    if (place.folder) {
      error = ::mkdirat(place.folder.get(), place.name.c_str(), 0777) == 0 ? 0 : errno;
      if (error == 0) made.push_back(reached);
      if (error == EEXIST) {
        error = Descriptor(open_beneath(descriptor_, reached, O_RDONLY | O_DIRECTORY)) ? 0 : errno;
      }
    }
    if (error == 0) continue;
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

void Folder::sync(const fs::path& name) const noexcept {
  const Descriptor directory(open_beneath(descriptor_, name, O_RDONLY | O_DIRECTORY));
  if (directory) ::fsync(directory.get());
}

}  // namespace headscope
