#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headscope/base/buffer.h"

namespace headscope {

/// \throws Error  kBackend, with MPI's words, unless the call succeeded.
void check_mpi(int result, const char* call);

/// Bytes under way to another rank: their number, then the bytes in pieces that an int can count.
class Outgoing {
 public:
  Outgoing() = default;
  /// The bytes must stay until it is done.
  void begin(MPI_Comm communicator, int to, std::span<const std::byte> bytes);
  [[nodiscard]] bool is_done();
  /// Given up: the bytes are not looked at any more.
  void abandon() noexcept;

 private:
  std::uint64_t size_ = 0;
  std::vector<MPI_Request> requests_;
};

/// Bytes under way from another rank, into memory of the kind `Memory`.
template <typename Memory>
class Incoming {
 public:
  void begin(MPI_Comm communicator, int from);
  [[nodiscard]] bool is_done();
  [[nodiscard]] Memory take() noexcept { return std::move(memory_); }
  void abandon() noexcept;

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int from_ = 0;
  bool sized_ = false;
  std::uint64_t size_ = 0;
  std::vector<MPI_Request> requests_;
  Memory memory_;
};
using IncomingBytes = Incoming<std::vector<std::byte>>;
using IncomingFloats = Incoming<Buffer<float>>;

}  // namespace headscope
