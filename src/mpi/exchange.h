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

/// Numbers from every rank to every other one, again and again.
///
/// A rank writes them into memory that ranks on the same machine read too, and these get a note of where. The others
/// get messages. Three such memories take turns: while this rank writes for one exchange, slower ones may still read
/// what it wrote for the last but one. They read nothing older, or they could not have given what this rank took in the
/// last.
class Exchange {
 public:
  /// All ranks make one. `share_memory`: false only to see messages at work on one machine.
  Exchange(MPI_Comm communicator, bool share_memory);

  /// Where to write the numbers for each rank, in the next exchange.
  [[nodiscard]] std::vector<std::span<float>> room(std::span<const std::size_t> counts);
  void begin();
  [[nodiscard]] bool is_done();
  /// What every rank gave: when it is done, and until it is so the next time.
  [[nodiscard]] std::vector<std::span<const float>> take();
  /// Given up.
  void abandon() noexcept;

  /// How many others write where this rank reads.
  [[nodiscard]] std::size_t read_in_place() const noexcept;
  /// Whether there are messages so large that they move only while someone looks at them.
  [[nodiscard]] bool has_large_messages() const noexcept { return distant_; }

 private:
  /// Another rank.
  struct Peer {
    bool reads = false;    ///< This rank's memory.
    bool is_read = false;  ///< Its memory is, by this rank.
    Outgoing out;
    IncomingBytes note_in;
    IncomingFloats numbers_in;
    Buffer<float> received;
    std::array<SharedMemory, 3> memory;  ///< As it is mapped here.
  };
  /// Which numbers there are in a shared memory.
  struct Note {
    SharedMemory::Address memory;
    std::uint64_t begin = 0;
    std::uint64_t count = 0;
  };

  void meet(bool share_memory);
  [[nodiscard]] std::span<const float> read(std::size_t from, const Note& note);

  MPI_Comm communicator_;
  std::size_t rank_ = 0;
  std::vector<Peer> peers_;  // one for every rank
  bool distant_ = false;     // some rank gets or gives messages
  std::array<SharedMemory, 3> memory_;
  std::size_t turn_ = 0;
  std::vector<Note> notes_;  // for each rank
  std::vector<std::span<float>> rooms_;
};

}  // namespace headscope
