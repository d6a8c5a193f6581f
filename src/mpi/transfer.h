#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headscope/base/buffer.h"

namespace headscope {

/// \throws Error  kBackend, with MPI's error text, unless the call succeeded.
void check_mpi(int result, const char* call);

/// A nonblocking send of bytes to another rank: their number, then the bytes in messages whose size fits an int.
class Outgoing {
 public:
  Outgoing() = default;
  /// The bytes must stay valid until is_done().
  void begin(MPI_Comm communicator, int to, std::span<const std::byte> bytes);
  [[nodiscard]] bool is_done();
  /// Abandons the transfer; the bytes are no longer accessed.
  void abandon() noexcept;

 private:
  std::uint64_t size_ = 0;
  std::vector<MPI_Request> requests_;
};

/// A nonblocking receive of bytes from another rank into a container of type `Memory`.
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
