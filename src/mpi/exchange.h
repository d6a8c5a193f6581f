#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headscope/base/buffer.h"
#include "mpi/shared_memory.h"
#include "mpi/transfer.h"

namespace headscope {

/// Repeated all-to-all exchange of floats between ranks.
///
/// A rank writes its numbers into shared memory. Ranks on the same machine map it and receive only a header with the
/// location of the numbers; other ranks receive the numbers in messages. There are three shared buffers, used in
/// rotation. While this rank writes for exchange n, a slower rank may still be reading from exchange (n - 2). None can
/// be reading from (n - 3): this rank has finished (n - 1), so every other rank has started it and finished (n - 2).
class Exchange {
 public:
  /// Collective. `share_memory` is false only to test messages on a single machine.
  Exchange(MPI_Comm communicator, bool share_memory);

  /// Returns the send buffer for each rank of the next exchange.
  [[nodiscard]] std::vector<std::span<float>> send_buffers(std::span<const std::size_t> counts);
  void begin();
  [[nodiscard]] bool is_done();
  /// Returns what every rank sent. Call once is_done() is true; the spans are valid until the next exchange is done.
  [[nodiscard]] std::vector<std::span<const float>> receive();
  /// Abandons the pending transfers.
  void abandon() noexcept;

  /// Returns the number of other ranks whose memory this rank reads directly.
  [[nodiscard]] std::size_t read_in_place() const noexcept;
  /// Whether there are messages that may be large enough to make progress only while MPI is called.
  [[nodiscard]] bool has_large_messages() const noexcept { return uses_messages_; }

 private:
  /// Another rank.
  struct Peer {
    bool maps_this = false;  ///< It maps the memory of this rank.
    bool is_mapped = false;  ///< This rank maps its memory.
    Outgoing out;
    IncomingBytes header_in;
    IncomingFloats numbers_in;
    Buffer<float> received;
    std::array<SharedMemory, 3> memory;  ///< Its buffers as mapped by this rank.
  };
  /// Location of the numbers in a shared buffer.
  struct Header {
    SharedMemory::Address memory;
    std::uint64_t begin = 0;
    std::uint64_t count = 0;
  };

  void connect(bool share_memory);
  [[nodiscard]] std::span<const float> read(std::size_t from, const Header& header);

  MPI_Comm communicator_;
  std::size_t rank_ = 0;
  std::vector<Peer> peers_;     // one per rank
  bool uses_messages_ = false;  // whether the numbers of some rank are sent or received in messages
  std::array<SharedMemory, 3> memory_;
  std::size_t slot_ = 0;
  std::vector<Header> headers_;  // one per rank
  std::vector<std::span<float>> send_buffers_;
};

}  // namespace headscope
