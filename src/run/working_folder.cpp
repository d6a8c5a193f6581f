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
#include <nlohmann/json.hpp>
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
  throw Error(error == ENOSPC || error == EDQUOT ? ErrorKind::kResource : ErrorKind::kIo,
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
bool is_current(const Folder& run, const std::string& name, int descriptor) noexcept {
  const int again = open_beneath(run.descriptor(), name, O_RDONLY | O_DIRECTORY);
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
    const std::string text(value.as_string().value_or(""));
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

// Removes a member and the subfolders that are empty without it.
void remove_member(const Folder& run, const fs::path& name) noexcept {
  if (run.remove(name) != 0) return;
  for (fs::path parent = name.parent_path(); !parent.empty(); parent = parent.parent_path()) {
    if (run.remove(parent) != 0) return;
  }
}

// Puts the files in place that are not yet there. Each step leaves a state from which this function goes on.
// `on_failure` is called with the number of files that are in place.
template <typename OnFailure>
void apply(const Folder& run, const std::string& folder, const Journal& journal, const OnFailure& on_failure) {
  for (std::size_t i = 0; i < journal.put.size(); ++i) {
    const Put& put = journal.put[i];
    if (!run.has(in(folder, put.from))) continue;
    int error = 0;
    try {
      run.make_folders(put.to, /*parents_only=*/true);
    } catch (const Error&) {
      on_failure();
      throw;
    }
    if (put.replaces) static_cast<void>(run.link(put.to, backup(folder, i)));
    error = run.rename(in(folder, put.from), put.to);
    if (error == 0) continue;
    on_failure();
    fail(run, put.to, "cannot replace", error);
  }
  for (const std::string& name : journal.remove) remove_member(run, name);
}

// Restores what `apply` replaced.
void undo(const Folder& run, const std::string& folder, const Journal& journal) {
  for (std::size_t i = journal.put.size(); i > 0; --i) {
    const Put& put = journal.put[i - 1];
    if (run.has(backup(folder, i - 1))) {
      const int error = run.rename(backup(folder, i - 1), put.to);
      if (error != 0) fail(run, put.to, "cannot restore", error);
    } else if (!put.replaces && !run.has(in(folder, put.from))) {
      remove_member(run, put.to);
    }
  }
}

// Whether everything that `apply` did so far can be undone.
bool can_undo(const Folder& run, const std::string& folder, const Journal& journal) {
  for (std::size_t i = 0; i < journal.put.size(); ++i) {
    const bool done = !run.has(in(folder, journal.put[i].from));
    if (done && journal.put[i].replaces && !run.has(backup(folder, i))) return false;
  }
  return true;
}

void recover_command(const Folder& run, const std::string& folder) {
  const bool decided = run.has(in(folder, kJournal));
  const bool undone = run.has(in(folder, kUndo));
  if (decided) {
    apply(run, folder, read_journal(run, folder, in(folder, kJournal)), [] {});
    run.sync(".");
  } else if (undone) {
    undo(run, folder, read_journal(run, folder, in(folder, kUndo)));
  }
  // The journal goes first: without it, whatever is left is only removed.
  run.remove(in(folder, decided ? kJournal : kUndo));
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
    if (descriptor < 0) continue;
    const bool ours = lock_directory(descriptor, /*wait=*/false) == 0 && is_current(run, folder, descriptor);
    try {
      if (ours) recover_command(run, folder);
    } catch (...) {
      ::close(descriptor);
      throw;
    }
    ::close(descriptor);
  }
  run.remove(fs::path(kTop));  // if it is empty
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
  for (int attempt = 0;; ++attempt) {
    {
      const ManifestLock lock(*run_);
      recover(*run_);
      run_->make_folders(name_, /*parents_only=*/false);
      lock_ = open_beneath(run_->descriptor(), name_, O_RDONLY | O_DIRECTORY);
      if (lock_ < 0) fail(*run_, name_, "cannot open", errno);
      if (lock_directory(lock_, /*wait=*/false) == 0 && is_current(*run_, name_, lock_)) break;
      ::close(std::exchange(lock_, -1));
    }
    if (attempt == kAttempts) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{}: '{}' is running there already ({}); wait until it ends, or choose another folder",
                              run_->path().string(), command, printable(owner_of(*run_, name_))));
    }
    std::this_thread::sleep_for(kPause);
  }
  removal_.emplace([this] { clean(); });
  write_member(*run_, in(name_, kOwner), owner_text());
}

WorkingFolder::~WorkingFolder() {
  clean();
  ::close(lock_);
}

// A journal that is still there was decided and not finished: the next command does that.
void WorkingFolder::clean() const noexcept {
  if (run_->has(in(name_, kJournal)) || run_->has(in(name_, kUndo))) return;
  run_->remove_all(name_);
  run_->remove(fs::path(kTop));
}

std::string WorkingFolder::next_name() {
  return fmt::format("{}/{}", name_, count_++);
}

void WorkingFolder::commit(const RunSwitch& change) {
  Journal journal{.put = {}, .remove = change.remove};
  for (const auto& [from, to] : change.put) {
    journal.put.push_back({fs::path(from).filename().string(), to, run_->has(to)});
  }
  const std::string decided = in(name_, kJournal);
  const std::string draft = in(name_, "draft");
  write_member(*run_, draft, to_text(journal));
  run_->sync(name_);
  const int error = run_->rename(draft, decided);
  if (error != 0) fail(*run_, decided, "cannot create", error);
  run_->sync(name_);
  apply(*run_, name_, journal, [&] {
    if (!can_undo(*run_, name_, journal) || run_->rename(decided, in(name_, kUndo)) != 0) return;
    undo(*run_, name_, journal);
    run_->remove(in(name_, kUndo));
  });
  run_->sync(".");
  run_->remove(decided);
}

}  // namespace headscope
