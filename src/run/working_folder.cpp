#include "run/working_folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "headscope/base/error.h"
#include "headscope/base/system.h"
#include "headscope/io/atomic_file.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/json.h"
#include "headscope/run/schema.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kTop = ".headscope";
constexpr std::string_view kJournal = "journal";  // the switch was decided: finish it
constexpr std::string_view kUndo = "undo";        // it failed: undo what was done of it
constexpr std::string_view kOwner = "owner";

std::string in(const std::string& folder, std::string_view name) {
  return fmt::format("{}/{}", folder, name);
}

// The second name of the file that the i-th new one replaces.
std::string backup(const std::string& folder, std::size_t i) {
  return fmt::format("{}/old-{}", folder, i);
}

// The second name of the i-th file that is removed.
std::string removed(const std::string& folder, std::size_t i) {
  return fmt::format("{}/removed-{}", folder, i);
}

// One file that becomes a member of the run.
struct Put {
  std::string from;  // in the working folder
  std::string to;
  bool replaces = false;  // whether there was a file before
};

struct Journal {
  std::vector<Put> put;
  std::vector<std::string> remove;
};

[[noreturn]] void fail(const Folder& run, const std::string& name, const char* what, int error) {
  throw Error(is_out_of_space(error) ? ErrorKind::kResource : ErrorKind::kIo,
              fmt::format("{}: {}: {}", (run.path() / name).string(), what, std::strerror(error)));
}

// Locks an open directory. Returns 0, or the value of `errno`. File systems without locks count as locked: there,
// nobody can tell whether another process is at work.
int lock_directory(int descriptor, bool wait) noexcept {
  while (::flock(descriptor, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
    if (errno == EINTR) continue;
    return errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
  }
  return 0;
}

// Whether an open directory is still the one of this name: whoever had it before may have removed it.
bool is_current(const Folder& run, const std::string& name, int descriptor) {
  const int again = open_beneath(run.descriptor(), name, O_RDONLY | O_DIRECTORY);
  if (again < 0 && !is_absent(errno)) fail(run, name, "cannot open", errno);
  if (again < 0) return false;
  struct stat mine {};
  struct stat there {};
  const bool same = ::fstat(descriptor, &mine) == 0 && ::fstat(again, &there) == 0 && mine.st_ino == there.st_ino &&
                    mine.st_dev == there.st_dev;
  ::close(again);
  return same;
}

void write_member(const Folder& run, const std::string& name, const std::string& text) {
  // The folder outlives the file, so the pointer need not own it.
  AtomicFile file(std::shared_ptr<const Folder>(std::shared_ptr<void>(), &run), name, run.path() / name);
  file.write(text);
  file.flush();
  file.keep();
}

std::string owner_text() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::time_t now = std::time(nullptr);
  return fmt::format("process {} on {}, since {:%Y-%m-%d %H:%M:%S} UTC", ::getpid(), host.data(), fmt::gmtime(now));
}

std::string owner_of(const Folder& run, const std::string& folder) {
  try {
    const MappedFile file = run.map(in(folder, kOwner));
    return std::string(as_text(file.bytes()));
  } catch (const Error&) {
    return "another process";
  }
}

std::string to_text(const Journal& journal) {
  Json put = Json::array();
  for (const Put& one : journal.put) put.push_back({{"from", one.from}, {"to", one.to}, {"replaces", one.replaces}});
  return Json{{"put", put}, {"remove", journal.remove}}.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Journal read_journal(const Folder& run, const std::string& folder, const std::string& name) {
  const std::string where = (run.path() / name).string();
  const MappedFile file = run.map(name);
  const JsonDocument document = JsonDocument::parse(as_text(file.bytes()), where);
  const auto check = [&](bool valid) {
    if (valid) return;
    throw Error(ErrorKind::kFormat, fmt::format("{}: is damaged; remove {} to use the results that are there", where,
                                                (run.path() / folder).string()));
  };
  const auto member = [&](JsonValue value) {
    std::string text(value.as_string().value_or(""));
    check(is_member_name(text) && !is_working_name(text));
    return text;
  };
  Journal journal;
  for (const JsonValue one : document.root().find("put").items()) {
    Put put{.from = std::string(one.find("from").as_string().value_or("")), .to = member(one.find("to"))};
    check(!put.from.empty() && std::ranges::all_of(put.from, [](char c) { return c >= '0' && c <= '9'; }));
    put.replaces = one.find("replaces").as_bool().value_or(false);
    journal.put.push_back(std::move(put));
  }
  for (const JsonValue one : document.root().find("remove").items()) {
    journal.remove.push_back(member(one));
    check(journal.remove.back() != run_files::kManifest);
  }
  return journal;
}

// Removes the subfolders of a member that are empty.
void remove_empty_parents(const Folder& run, const fs::path& name) {
  for (fs::path parent = name.parent_path(); !parent.empty(); parent = parent.parent_path()) {
    const int error = run.remove_folder(parent);
    const bool in_use = error == ENOTEMPTY || error == EEXIST || error == EBUSY || error == EACCES || error == EPERM;
    if (in_use || is_absent(error)) return;
    if (error != 0) fail(run, parent.string(), "cannot remove", error);
  }
}

// A folder with files in it is not ours, whatever the manifest says: it stays.
void remove_member(const Folder& run, const std::string& name) {
  const int error = run.remove(name);
  if (error != 0 && error != ENOTEMPTY && error != EEXIST && !is_absent(error)) fail(run, name, "cannot remove", error);
  remove_empty_parents(run, name);
}

void require(const Folder& run, const std::string& name, const char* what, int error) {
  if (error != 0) fail(run, name, what, error);
}

// Puts the files in place that are not yet there, and removes the others. Each step leaves a state from which this
// function or `undo` goes on. \throws Error  kIo, kResource.
void apply(const Folder& run, const std::string& folder, const Journal& journal) {
  for (std::size_t i = 0; i < journal.put.size(); ++i) {
    const Put& put = journal.put[i];
    const int error = run.find(in(folder, put.from));
    if (is_absent(error)) continue;
    require(run, put.to, "cannot replace", error);
    run.make_folders(put.to, /*parents_only=*/true);
    if (put.replaces) static_cast<void>(run.link(put.to, backup(folder, i)));
    require(run, put.to, "cannot replace", run.rename(in(folder, put.from), put.to));
  }
  for (std::size_t i = 0; i < journal.remove.size(); ++i) {
    static_cast<void>(run.link(journal.remove[i], removed(folder, i)));
    remove_member(run, journal.remove[i]);
  }
}

// Flushes the directories that `apply` changed: the journal is needed until then. \throws Error  kIo, kResource.
void sync_folders(const Folder& run, const Journal& journal) {
  constexpr std::size_t kFewFolders = 16;
  std::set<fs::path> folders = {"."};
  for (const Put& put : journal.put) {
    if (fs::path parent = fs::path(put.to).parent_path(); !parent.empty()) folders.insert(std::move(parent));
  }
  if (folders.size() > kFewFolders) return run.sync_all();
  for (const fs::path& folder : folders) require(run, folder.string(), "cannot write", run.sync(folder));
}

// Restores what `apply` replaced and removed.
void undo(const Folder& run, const std::string& folder, const Journal& journal) {
  for (std::size_t i = 0; i < journal.remove.size(); ++i) {
    const std::string& name = journal.remove[i];
    if (!run.has(removed(folder, i)) || run.has(name)) continue;
    run.make_folders(name, /*parents_only=*/true);
    require(run, name, "cannot restore", run.rename(removed(folder, i), name));
  }
  for (std::size_t i = journal.put.size(); i > 0; --i) {
    const Put& put = journal.put[i - 1];
    if (run.has(backup(folder, i - 1))) {
      require(run, put.to, "cannot restore", run.rename(backup(folder, i - 1), put.to));
    } else if (!put.replaces && !run.has(in(folder, put.from))) {
      remove_member(run, put.to);
    } else if (!put.replaces) {
      remove_empty_parents(run, put.to);
    }
  }
}

// Whether everything that `apply` did so far can be undone.
bool can_undo(const Folder& run, const std::string& folder, const Journal& journal) {
  for (std::size_t i = 0; i < journal.put.size(); ++i) {
    const bool done = !run.has(in(folder, journal.put[i].from));
    if (done && journal.put[i].replaces && !run.has(backup(folder, i))) return false;
  }
  for (std::size_t i = 0; i < journal.remove.size(); ++i) {
    if (!run.has(journal.remove[i]) && !run.has(removed(folder, i))) return false;
  }
  return true;
}

// Undoes a commit that failed. Returns whether the old result is in place.
bool roll_back(const Folder& run, const std::string& folder, const Journal& journal) noexcept {
  try {
    if (!can_undo(run, folder, journal) || run.rename(in(folder, kJournal), in(folder, kUndo)) != 0) return false;
    undo(run, folder, journal);
    return run.remove(in(folder, kUndo)) == 0;
  } catch (const Error&) {
    return false;
  }
}

void recover_command(const Folder& run, const std::string& folder) {
  const bool decided = run.has(in(folder, kJournal));
  const bool undone = run.has(in(folder, kUndo));
  if (decided) {
    const Journal journal = read_journal(run, folder, in(folder, kJournal));
    apply(run, folder, journal);
    sync_folders(run, journal);
  } else if (undone) {
    undo(run, folder, read_journal(run, folder, in(folder, kUndo)));
  }
  // The journal goes first: without it, whatever is left is only removed.
  const std::string journal = in(folder, decided ? kJournal : kUndo);
  if (decided || undone) require(run, journal, "cannot remove", run.remove(journal));
  run.remove_all(folder);
}

}  // namespace

bool is_working_name(const fs::path& name) noexcept {
  return !name.empty() && *name.begin() == fs::path(kTop);
}

ManifestLock::ManifestLock(const Folder& run)
    : lock_(::openat(run.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (lock_ < 0) fail(run, "", "cannot open", errno);
  lock_directory(lock_, /*wait=*/true);
}

ManifestLock::~ManifestLock() {
  ::close(lock_);
}

void recover(const Folder& run) {
  for (const std::string& command : run.list(kTop)) {
    const std::string folder = in(std::string(kTop), command);
    const int descriptor = open_beneath(run.descriptor(), folder, O_RDONLY | O_DIRECTORY);
    if (descriptor < 0 && !is_absent(errno)) fail(run, folder, "cannot open", errno);
    if (descriptor < 0) continue;
    try {
      if (lock_directory(descriptor, /*wait=*/false) == 0 && is_current(run, folder, descriptor)) {
        recover_command(run, folder);
      }
    } catch (...) {
      ::close(descriptor);
      throw;
    }
    ::close(descriptor);
  }
  run.remove_folder(kTop);  // if it is empty
}

void recover_before_reading(const Folder& run) {
  const auto is_interrupted = [&](const std::string& command) {
    const std::string folder = in(std::string(kTop), command);
    return run.has(in(folder, kJournal)) || run.has(in(folder, kUndo));
  };
  if (std::ranges::none_of(run.list(kTop), is_interrupted)) return;
  const ManifestLock lock(run);
  recover(run);
}

WorkingFolder::WorkingFolder(std::shared_ptr<const Folder> run, std::string command)
    : run_(std::move(run)), name_(in(std::string(kTop), command)) {
  // Another process may hold the folder for a moment, to remove it.
  constexpr int kAttempts = 40;
  constexpr std::chrono::milliseconds kPause(50);
  for (int attempt = 0; !take(); ++attempt) {
    if (attempt == kAttempts) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{}: '{}' is running there already ({}); wait until it ends, or choose another folder",
                              run_->path().string(), command, printable(owner_of(*run_, name_))));
    }
    std::this_thread::sleep_for(kPause);
  }
  try {
    removal_.emplace([this] { clean(); });
    write_member(*run_, in(name_, kOwner), owner_text());
  } catch (...) {
    clean();
    ::close(lock_);
    throw;
  }
}

// Makes and locks the folder. Returns whether no other process has it.
bool WorkingFolder::take() {
  const ManifestLock lock(*run_);
  recover(*run_);
  try {
    run_->make_folders(name_, /*parents_only=*/false);
    lock_ = open_beneath(run_->descriptor(), name_, O_RDONLY | O_DIRECTORY);
    if (lock_ < 0) fail(*run_, name_, "cannot open", errno);
    if (lock_directory(lock_, /*wait=*/false) == 0 && is_current(*run_, name_, lock_)) return true;
    ::close(std::exchange(lock_, -1));
    return false;
  } catch (...) {
    if (lock_ >= 0) ::close(lock_);
    run_->remove_folder(name_);  // if it is empty: another process has its file there
    run_->remove_folder(kTop);
    throw;
  }
}

WorkingFolder::~WorkingFolder() {
  clean();
  ::close(lock_);
}

// A journal that is still there was decided and not finished: the next command does that.
void WorkingFolder::clean() const noexcept {
  try {
    if (run_->has(in(name_, kJournal)) || run_->has(in(name_, kUndo))) return;
  } catch (const Error&) {
    return;  // nobody knows
  }
  run_->remove_all(name_);
  run_->remove_folder(kTop);
}

std::string WorkingFolder::next_name() {
  return fmt::format("{}/{}", name_, count_++);
}

void WorkingFolder::commit(const RunSwitch& change) {
  // From here on an interrupt leaves the folder for the next command. Waits if the folder is being removed right now;
  // the journal cannot be written then.
  removal_.reset();
  Journal journal;
  for (const auto& [from, to] : change.put) {
    journal.put.push_back({fs::path(from).filename().string(), to, run_->has(to)});
  }
  std::ranges::copy_if(change.remove, std::back_inserter(journal.remove),
                       [&](const std::string& name) { return run_->has(name); });
  const std::string decided = in(name_, kJournal);
  const std::string draft = in(name_, "draft");
  write_member(*run_, draft, to_text(journal));
  require(*run_, name_, "cannot write", run_->sync(name_));
  require(*run_, decided, "cannot create", run_->rename(draft, decided));
  try {
    require(*run_, name_, "cannot write", run_->sync(name_));
    apply(*run_, name_, journal);
    sync_folders(*run_, journal);
  } catch (const Error& error) {
    if (roll_back(*run_, name_, journal)) throw;
    throw Error(error.kind(), std::string(error.what()) + "; the next command on this folder completes the change");
  }
  run_->remove(decided);
}

}  // namespace headscope
