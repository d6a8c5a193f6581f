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

constexpr std::size_t kLine = 64;        // cache line; no two ranks' data share one
constexpr std::size_t kMinBytes = 4096;  // minimum size of a shared buffer

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
  headers_.resize(peers_.size());
  send_buffers_.resize(peers_.size());
  if (size > 1) connect(share_memory);
}

// Every rank tries to map the memory of every other rank, and learns which ranks have mapped its own.
void Exchange::connect(bool share_memory) {
  memory_[0] = SharedMemory(kMinBytes);
  const SharedMemory::Address own = memory_[0].address();
  std::vector<SharedMemory::Address> all(peers_.size());
  check_mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, communicator_), "Allgather");
  std::vector<std::uint8_t> mapped(peers_.size(), 0);
  for (std::size_t from = 0; share_memory && from < peers_.size(); ++from) {
    if (from == rank_) continue;
    if (std::optional<SharedMemory> memory = SharedMemory::open(all[from])) {
      peers_[from].memory[0] = std::move(*memory);
      mapped[from] = 1;
    }
  }
  std::vector<std::uint8_t> mapping(peers_.size(), 0);
  check_mpi(MPI_Alltoall(mapped.data(), 1, MPI_BYTE, mapping.data(), 1, MPI_BYTE, communicator_), "Alltoall");
  for (std::size_t other = 0; other < peers_.size(); ++other) {
    peers_[other].is_mapped = mapped[other] != 0;
    peers_[other].maps_this = mapping[other] != 0;
    if (other != rank_) uses_messages_ = uses_messages_ || !peers_[other].is_mapped || !peers_[other].maps_this;
  }
}

std::vector<std::span<float>> Exchange::send_buffers(std::span<const std::size_t> counts) {
  std::size_t bytes = 0;
  for (std::size_t to = 0; to < peers_.size(); ++to) {
    if (to == rank_) continue;
    headers_[to].begin = bytes;
    headers_[to].count = counts[to];
    bytes += (counts[to] * sizeof(float) + kLine - 1) / kLine * kLine;
  }
  SharedMemory& memory = memory_[slot_];
  if (memory.bytes().size() < bytes) memory = SharedMemory(std::bit_ceil(std::max(bytes, kMinBytes)));
  for (std::size_t to = 0; to < peers_.size(); ++to) {
    if (to == rank_) continue;
    headers_[to].memory = memory.address();
    send_buffers_[to] = {reinterpret_cast<float*>(memory.bytes().data() + headers_[to].begin), counts[to]};
  }
  return send_buffers_;
}

void Exchange::begin() {
  std::atomic_thread_fence(std::memory_order_release);
  // Each rank starts with its neighbors, so that not all send to the same rank at once.
  for (std::size_t step = 1; step < peers_.size(); ++step) {
    const std::size_t from = (rank_ + peers_.size() - step) % peers_.size();
    const std::size_t to = (rank_ + step) % peers_.size();
    if (peers_[from].is_mapped) {
      peers_[from].header_in.begin(communicator_, as_int(from));
    } else {
      peers_[from].numbers_in.begin(communicator_, as_int(from));
    }
    const bool by_header = peers_[to].maps_this;
    peers_[to].out.begin(communicator_, as_int(to),
                         by_header ? std::as_bytes(std::span(&headers_[to], 1)) : std::as_bytes(send_buffers_[to]));
  }
}

bool Exchange::is_done() {
  bool done = true;
  for (std::size_t other = 0; other < peers_.size(); ++other) {
    if (other == rank_) continue;
    Peer& peer = peers_[other];
    done = peer.out.is_done() && done;
    done = (peer.is_mapped ? peer.header_in.is_done() : peer.numbers_in.is_done()) && done;
  }
  return done;
}

std::vector<std::span<const float>> Exchange::receive() {
  std::atomic_thread_fence(std::memory_order_acquire);
  std::vector<std::span<const float>> result(peers_.size());
  for (std::size_t from = 0; from < peers_.size(); ++from) {
    if (from == rank_) continue;
    Peer& peer = peers_[from];
    if (peer.is_mapped) {
      result[from] = read(from, MessageReader(peer.header_in.take()).take<Header>());
    } else {
      peer.received = peer.numbers_in.take();
      result[from] = std::as_const(peer.received).values();
    }
  }
  slot_ = (slot_ + 1) % memory_.size();
  return result;
}

std::span<const float> Exchange::read(std::size_t from, const Header& header) {
  SharedMemory& memory = peers_[from].memory[slot_];
  if (memory.address() != header.memory) {
    std::optional<SharedMemory> found = SharedMemory::open(header.memory);
    if (!found) {
      throw Error(ErrorKind::kBackend,
                  fmt::format("cannot map the shared memory of rank {}, which worked before", from));
    }
    memory = std::move(*found);
  }
  const std::span<const std::byte> bytes = memory.bytes();
  if (header.begin > bytes.size() || header.count > (bytes.size() - header.begin) / sizeof(float)) {
    throw Error(ErrorKind::kBackend, fmt::format("rank {} announced {} numbers in a shared buffer of {} bytes", from,
                                                 header.count, bytes.size()));
  }
  return {reinterpret_cast<const float*>(bytes.data() + header.begin), header.count};
}

std::size_t Exchange::read_in_place() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(peers_, &Peer::is_mapped));
}

void Exchange::abandon() noexcept {
  for (Peer& peer : peers_) {
    peer.out.abandon();
    peer.header_in.abandon();
    peer.numbers_in.abandon();
  }
}

}  // namespace headscope
