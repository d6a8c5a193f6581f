#include "mpi/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/base/message.h"

namespace headscope {
namespace {

constexpr std::size_t kLine = 64;          // cache line; no two ranks' data share one
constexpr std::size_t kLeastBytes = 4096;  // minimum size of a shared buffer

int as_int(std::size_t rank) noexcept {
  return static_cast<int>(rank);
}

}  // namespace

Exchange::Exchange(MPI_Comm communicator, bool share_memory) : communicator_(communicator) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  rank_ = static_cast<std::size_t>(rank);
  peers_.resize(static_cast<std::size_t>(size));
  notes_.resize(peers_.size());
  send_buffers_.resize(peers_.size());
  if (size > 1) connect(share_memory);
}

// Every rank tries to map the memory of every other rank, and learns which ranks have mapped its own.
void Exchange::connect(bool share_memory) {
  memory_[0] = SharedMemory(kLeastBytes);
  const SharedMemory::Address own = memory_[0].address();
  std::vector<SharedMemory::Address> all(peers_.size());
  check_mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, communicator_), "Allgather");
  std::vector<std::uint8_t> reached(peers_.size(), 0);
  for (std::size_t from = 0; share_memory && from < peers_.size(); ++from) {
    if (from == rank_) continue;
    if (std::optional<SharedMemory> memory = SharedMemory::open(all[from])) {
      peers_[from].memory[0] = std::move(*memory);
      reached[from] = 1;
    }
  }
  std::vector<std::uint8_t> reaching(peers_.size(), 0);
  check_mpi(MPI_Alltoall(reached.data(), 1, MPI_BYTE, reaching.data(), 1, MPI_BYTE, communicator_), "Alltoall");
  for (std::size_t other = 0; other < peers_.size(); ++other) {
    peers_[other].is_read = reached[other] != 0;
    peers_[other].reads = reaching[other] != 0;
    if (other != rank_) distant_ = distant_ || !peers_[other].is_read || !peers_[other].reads;
  }
}

std::vector<std::span<float>> Exchange::room(std::span<const std::size_t> counts) {
  std::size_t bytes = 0;
  for (std::size_t to = 0; to < peers_.size(); ++to) {
    if (to == rank_) continue;
    notes_[to].begin = bytes;
    notes_[to].count = counts[to];
    bytes += (counts[to] * sizeof(float) + kLine - 1) / kLine * kLine;
  }
  SharedMemory& memory = memory_[slot_];
  if (memory.bytes().size() < bytes) memory = SharedMemory(std::bit_ceil(std::max(bytes, kLeastBytes)));
  for (std::size_t to = 0; to < peers_.size(); ++to) {
    if (to == rank_) continue;
    notes_[to].memory = memory.address();
    send_buffers_[to] = {reinterpret_cast<float*>(memory.bytes().data() + notes_[to].begin), counts[to]};
  }
  return send_buffers_;
}

void Exchange::begin() {
  std::atomic_thread_fence(std::memory_order_release);
  // Each rank starts with its neighbors, so that not all send to the same rank at once.
  for (std::size_t step = 1; step < peers_.size(); ++step) {
    const std::size_t from = (rank_ + peers_.size() - step) % peers_.size();
    const std::size_t to = (rank_ + step) % peers_.size();
    if (peers_[from].is_read) {
      peers_[from].note_in.begin(communicator_, as_int(from));
    } else {
      peers_[from].numbers_in.begin(communicator_, as_int(from));
    }
    const bool by_note = peers_[to].reads;
    peers_[to].out.begin(communicator_, as_int(to),
                         by_note ? std::as_bytes(std::span(&notes_[to], 1)) : std::as_bytes(send_buffers_[to]));
  }
}

bool Exchange::is_done() {
  bool done = true;
  for (std::size_t other = 0; other < peers_.size(); ++other) {
    if (other == rank_) continue;
    Peer& peer = peers_[other];
    done = peer.out.is_done() && done;
    done = (peer.is_read ? peer.note_in.is_done() : peer.numbers_in.is_done()) && done;
  }
  return done;
}

std::vector<std::span<const float>> Exchange::take() {
  std::atomic_thread_fence(std::memory_order_acquire);
  std::vector<std::span<const float>> result(peers_.size());
  for (std::size_t from = 0; from < peers_.size(); ++from) {
    if (from == rank_) continue;
    Peer& peer = peers_[from];
    if (peer.is_read) {
      result[from] = read(from, MessageReader(peer.note_in.take()).take<Note>());
    } else {
      peer.received = peer.numbers_in.take();
      result[from] = std::as_const(peer.received).values();
    }
  }
  slot_ = (slot_ + 1) % memory_.size();
  return result;
}

std::span<const float> Exchange::read(std::size_t from, const Note& note) {
  SharedMemory& memory = peers_[from].memory[slot_];
  if (memory.address() != note.memory) {
    std::optional<SharedMemory> found = SharedMemory::open(note.memory);
    if (!found) {
      throw Error(ErrorKind::kBackend,
                  fmt::format("the memory of rank {}, on this machine, cannot be read any more", from));
    }
    memory = std::move(*found);
  }
  const std::span<const std::byte> bytes = memory.bytes();
  if (note.begin > bytes.size() || note.count > (bytes.size() - note.begin) / sizeof(float)) {
    throw Error(ErrorKind::kBackend,
                fmt::format("rank {} gives {} numbers in {} bytes of memory", from, note.count, bytes.size()));
  }
  return {reinterpret_cast<const float*>(bytes.data() + note.begin), note.count};
}

std::size_t Exchange::read_in_place() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(peers_, &Peer::is_read));
}

void Exchange::abandon() noexcept {
  for (Peer& peer : peers_) {
    peer.out.abandon();
    peer.note_in.abandon();
    peer.numbers_in.abandon();
  }
}

}  // namespace headscope
