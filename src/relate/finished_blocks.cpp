#include "headscope/relate/finished_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/io/atomic_file.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "headscope blocks 2\n";
constexpr std::string_view kFolder = "unfinished";
constexpr std::string_view kFolderPrefix = "relate-";
constexpr std::string_view kSuffix = ".blocks";

enum class Record : std::uint8_t { kBlock = 1, kSide = 2 };

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

void put(MessageWriter& message, const BlockId& id) {
  message.put(Record::kBlock);
  message.put(id.metric);
  message.put(id.source_role);
  message.put(id.target_role);
  message.put(id.source_layer);
  message.put(id.target_layer);
}

void put(MessageWriter& message, const SideId& id) {
  message.put(Record::kSide);
  message.put(id.metric);
  message.put(id.role);
  message.put(id.target);
  message.put(id.layer);
}

BlockId take_block_id(MessageReader& message) {
  BlockId id;
  id.metric = message.take<Metric>();
  id.source_role = message.take<Role>();
  id.target_role = message.take<Role>();
  id.source_layer = message.take<std::size_t>();
  id.target_layer = message.take<std::size_t>();
  return id;
}

SideId take_side_id(MessageReader& message) {
  SideId id;
  id.metric = message.take<Metric>();
  id.role = message.take<Role>();
  id.target = message.take<std::uint8_t>() != 0;
  id.layer = message.take<std::size_t>();
  return id;
}

}  // namespace

FinishedBlocks::FinishedBlocks(const fs::path& run, std::string key, std::size_t rank, double seconds_between)
    : key_(std::move(key)), rank_(rank), between_(seconds_between) {
  own_folder_ = fmt::format("{}/{}{:016x}", kFolder, kFolderPrefix, checksum(std::as_bytes(std::span(key_))));
  try {
    run_ = std::make_shared<const Folder>(Folder::open(run));
    read_files();
  } catch (const Error&) {
    can_write_ = false;
  }
}

void FinishedBlocks::read_files() {
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

void FinishedBlocks::read(const MappedFile& file) {
  const std::span<const std::byte> bytes = file.bytes();
  const auto refuse = [] { throw Error(ErrorKind::kFormat, "not a file of finished blocks with this key"); };
  if (bytes.size() < sizeof(std::uint64_t)) refuse();
  const std::span<const std::byte> body = bytes.first(bytes.size() - sizeof(std::uint64_t));
  if (MessageReader(bytes.subspan(body.size())).take<std::uint64_t>() != checksum(body)) refuse();
  MessageReader message(body);
  if (message.take_text() != kMagic || message.take_text() != key_) refuse();
  std::map<BlockId, std::span<const std::byte>> blocks;
  std::map<SideId, std::span<const std::byte>> sides;
  while (message.remaining() > 0) {
    const auto record = message.take<Record>();
    if (record != Record::kBlock && record != Record::kSide) refuse();
    if (record == Record::kBlock) {
      const BlockId id = take_block_id(message);
      blocks[id] = message.take_bytes(message.take<std::size_t>());
    } else {
      const SideId id = take_side_id(message);
      sides[id] = message.take_bytes(message.take<std::size_t>());
    }
  }
  blocks_.merge(blocks);
  sides_.merge(sides);
}

bool FinishedBlocks::restore(const BlockId& id, MatrixSpan out) {
  const auto found = blocks_.find(id);
  if (found == blocks_.end()) return false;
  MessageReader message(found->second);
  if (message.remaining() < 2 * sizeof(std::size_t)) return false;
  const auto rows = message.take<std::size_t>();
  const auto columns = message.take<std::size_t>();
  if (rows != out.rows() || columns != out.columns() || message.remaining() != rows * columns * sizeof(float)) {
    return false;
  }
  for (std::size_t i = 0; i < rows; ++i) message.take_all(out.row(i));
  ++restored_;
  return true;
}

bool FinishedBlocks::restore(const SideId& id, std::span<GramMoments> moments, std::span<std::size_t> ranks) {
  const auto found = sides_.find(id);
  if (found == sides_.end() || found->second.size() != moments.size_bytes() + ranks.size_bytes()) return false;
  MessageReader message(found->second);
  message.take_all(moments);
  message.take_all(ranks);
  return true;
}

void FinishedBlocks::keep(const BlockId& id, MatrixView values) {
  put(pending_, id);
  pending_.put(2 * sizeof(std::size_t) + values.rows() * values.columns() * sizeof(float));
  pending_.put(values.rows());
  pending_.put(values.columns());
  for (std::size_t i = 0; i < values.rows(); ++i) {
    pending_.put_all(std::span(values.data() + i * values.row_stride(), values.columns()));
  }
  ++pending_records_;
  save_if_due();
}

void FinishedBlocks::keep(const SideId& id, std::span<const GramMoments> moments, std::span<const std::size_t> ranks) {
  put(pending_, id);
  pending_.put(moments.size_bytes() + ranks.size_bytes());
  pending_.put_all(moments);
  pending_.put_all(ranks);
  ++pending_records_;
}

void FinishedBlocks::save_if_due() {
  if (pending_.bytes().size() >= kMostPending || Clock::now() - last_ >= between_) write();
}

void FinishedBlocks::save() {
  if (files_ > 0 || Clock::now() - last_ >= between_) write();
}

MessageWriter FinishedBlocks::begin_file() const {
  MessageWriter file;
  file.put_text(kMagic);
  file.put_text(key_);
  file.put_all(pending_.bytes());
  return file;
}

void FinishedBlocks::write() {
  const MessageWriter body = begin_file();
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

void FinishedBlocks::remove(const fs::path& run) noexcept {
  try {
    const Folder folder = Folder::open(run);
    for (const std::string& name : folder.list(kFolder)) {
      if (name.starts_with(kFolderPrefix)) folder.remove_all(fmt::format("{}/{}", kFolder, name));
    }
    if (!folder.list(kFolder).empty()) return;
    // A link of that name is not ours.
    folder.remove_folder(kFolder);
  } catch (const Error&) {
    return;  // there is no run
  }
}

}  // namespace headscope
