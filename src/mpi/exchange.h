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
/// A rank writes its numbers into memory that ranks on the same machine can map; those are sent only a note that says
/// where the numbers are. Other ranks are sent messages. There are three shared buffers, used in rotation: while this
/// rank writes for exchange n, a slower rank may still be reading what was written for exchange n - 2. None can be
/// reading n - 3: this rank has finished exchange n - 1, so every other rank has started it and thus finished n - 2.
class Exchange {
 public:
  /// Collective. `share_memory` is false only to test messages on a single machine.
  Exchange(MPI_Comm communicator, bool share_memory);

  /// Returns where to write the numbers for each rank in the next exchange.
  [[nodiscard]] std::vector<std::span<float>> room(std::span<const std::size_t> counts);
  void begin();
  [[nodiscard]] bool is_done();
  /// Returns what every rank sent. Call once is_done(); the spans are valid until the next exchange is done.
  [[nodiscard]] std::vector<std::span<const float>> take();
  /// Cancels whatever is pending.
  void abandon() noexcept;

  /// Returns the number of other ranks whose memory this rank reads directly.
  [[nodiscard]] std::size_t read_in_place() const noexcept;
  /// Whether there are messages that may be large enough to make progress only while MPI is called.
  [[nodiscard]] bool has_large_messages() const noexcept { return distant_; }

 private:
  /// Another rank.
  struct Peer {
    bool reads = false;    ///< It maps this rank's memory.
    bool is_read = false;  ///< This rank maps its memory.
    Outgoing out;
    IncomingBytes note_in;
    IncomingFloats numbers_in;
    Buffer<float> received;
    std::array<SharedMemory, 3> memory;  ///< Its buffers as mapped by this rank.
  };
  /// Location of the numbers in a shared buffer.
  struct Note {
    SharedMemory::Address memory;
    std::uint64_t begin = 0;
    std::uint64_t count = 0;
  };

  void connect(bool share_memory);
  [[nodiscard]] std::span<const float> read(std::size_t from, const Note& note);

  MPI_Comm communicator_;
  std::size_t rank_ = 0;
  std::vector<Peer> peers_;  // one per rank
  bool distant_ = false;     // some rank sends or receives messages
  std::array<SharedMemory, 3> memory_;
  std::size_t slot_ = 0;
  std::vector<Note> notes_;  // one per rank
  std::vector<std::span<float>> send_buffers_;
};

}  // namespace headscope
