#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>

#include "cuda/device.h"

namespace headscope::cuda {

/// A range of bytes in host memory.
using HostBytes = std::span<const std::byte>;

/// Uploads memory to the device in pieces: while one piece is being transferred, all threads copy the next one into
/// pinned memory.
class Upload {
 public:
  /// Bytes per piece. Its transfer takes 0.6 ms, many times the cost of starting one.
  static constexpr std::size_t kPiece = std::size_t{32} << 20;

  /// Uploads `parts` one after another and calls `arrived(data, first, bytes)` for each piece. Work that `arrived`
  /// queues to `stream` finds bytes [first, first + bytes) of the concatenated parts at `data`, on the device, where
  /// they stay until the next piece.
  void send(std::span<const HostBytes> parts, const Stream& stream,
            const std::function<void(const std::byte* data, std::size_t first, std::size_t bytes)>& arrived);
  /// The same, but stores all parts contiguously at `to`.
  void send(std::span<const HostBytes> parts, const Stream& stream, std::byte* to);

 private:
  struct Lane {
    PinnedMemory memory;
    Event sent;
  };

  void send_pieces(std::span<const HostBytes> parts, const Stream& stream,
                   const std::function<std::byte*(std::size_t first)>& place,
                   const std::function<void(std::size_t first, std::size_t bytes)>& sent);

  std::array<Lane, 2> lanes_;
  DeviceMemory piece_;
};

}  // namespace headscope::cuda
