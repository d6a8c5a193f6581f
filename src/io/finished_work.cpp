#include "headscope/io/finished_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/io/atomic_file.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "headscope blocks 3\n";
constexpr std::string_view kFolder = "unfinished";
constexpr std::string_view kSuffix = ".blocks";

// FNV-1a over 8-byte words: detects damage by a crash or a disk.
std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  constexpr std::uint64_t kPrime = 0x100000001B3U;
  std::uint64_t value = 0xCBF29CE484222325U ^ bytes.size();
  for (; bytes.size() >= sizeof value; bytes = bytes.subspan(sizeof value)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    value = (value ^ word) * kPrime;
    value ^= value >> 32U;  // otherwise the high bits of a word never affect the low bits
  }
  for (const std::byte byte : bytes) value = (value ^ static_cast<std::uint64_t>(byte)) * kPrime;
  return value;
}

}  // namespace

FinishedWork::FinishedWork(const fs::path& run, std::string_view command, std::string key, std::size_t rank,
                           double seconds_between)
    : key_(std::move(key)), rank_(rank), between_(seconds_between) {
  own_folder_ = fmt::format("{}/{}-{:016x}", kFolder, command, checksum(std::as_bytes(std::span(key_))));
  try {
    run_ = std::make_shared<const Folder>(Folder::open(run));
    read_files();
  } catch (const Error&) {
    can_write_ = false;
  }
}

void FinishedWork::read_files() {
  for (const std::string& name : run_->list(own_folder_)) {
    if (!name.ends_with(kSuffix)) continue;
    const std::string path = own_folder_ + "/" + name;
    try {
      MappedFile file = run_->map(path);
      read(file);
      release_pages(file.bytes());
      mapped_.push_back(std::move(file));
      ++files_;
    } catch (const Error&) {
      // Damaged, or of another key: ignored.
    }
  }
}

void FinishedWork::read(const MappedFile& file) {
  const std::span<const std::byte> bytes = file.bytes();
  const auto refuse = [] { throw Error(ErrorKind::kFormat, "not a file of finished work with this key"); };
  if (bytes.size() < sizeof(std::uint64_t)) refuse();
  const std::span<const std::byte> body = bytes.first(bytes.size() - sizeof(std::uint64_t));
  if (MessageReader(bytes.subspan(body.size())).take<std::uint64_t>() != checksum(body)) refuse();
  MessageReader message(body);
  if (message.take_text() != kMagic || message.take_text() != key_) refuse();
  std::map<std::string, std::span<const std::byte>, std::less<>> found;
  while (message.remaining() > 0) {
    std::string id = message.take_text();
    found[std::move(id)] = message.take_bytes(message.take<std::size_t>());
  }
  found_.merge(found);
}

std::optional<std::span<const std::byte>> FinishedWork::find(std::string_view id) const {
  const auto found = found_.find(id);
  if (found == found_.end()) return std::nullopt;
  return found->second;
}

void FinishedWork::keep(std::string_view id, std::span<const std::byte> bytes) {
  pending_.put_text(id);
  pending_.put(bytes.size());
  pending_.put_all(bytes);
  ++pending_records_;
  if (pending_.bytes().size() >= kMostPending || Clock::now() - last_ >= between_) write();
}

void FinishedWork::save() {
  if (files_ > 0 || Clock::now() - last_ >= between_) write();
}

void FinishedWork::write() {
  MessageWriter body;
  body.put_text(kMagic);
  body.put_text(key_);
  body.put_all(pending_.bytes());
  const bool anything = std::exchange(pending_records_, 0) > 0;
  pending_ = MessageWriter();
  last_ = Clock::now();
  if (!anything || !can_write_) return;
  try {
    run_->make_folders(own_folder_, /*parents_only=*/false);
    std::string path;
    std::size_t number = 0;
    do {
      path = fmt::format("{}/{:04}-{:05}{}", own_folder_, rank_, number++, kSuffix);
    } while (run_->has(path));
    AtomicFile file(run_, path + ".tmp", run_->path() / path);
    file.write(body.bytes());
    MessageWriter end;
    end.put(checksum(body.bytes()));
    file.write(end.bytes());
    file.flush();
    if (run_->rename(path + ".tmp", path) != 0) throw Error(ErrorKind::kIo, path + ": cannot rename");
    file.keep();
    ++files_;
  } catch (const Error&) {
    can_write_ = false;  // the run continues without storing
  }
}

void FinishedWork::remove(const fs::path& run, std::string_view command) noexcept {
  try {
    const Folder folder = Folder::open(run);
    for (const std::string& name : folder.list(kFolder)) {
      if (name.starts_with(fmt::format("{}-", command))) folder.remove_all(fmt::format("{}/{}", kFolder, name));
    }
    if (!folder.list(kFolder).empty()) return;
    // A link of that name is not ours.
    folder.remove_folder(kFolder);
  } catch (const Error&) {
    return;  // there is no run
  }
}

}  // namespace headscope
