#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>

#include "cuda/device.h"

namespace headscope::cuda {

/// Bytes of this machine's memory, somewhere.
using HostBytes = std::span<const std::byte>;

/// Sends memory to the device in pieces: while one is on its way, the next is copied into pinned memory, by all
/// threads.
class Upload {
 public:
  /// Bytes of a piece. The wire takes 0.6 ms for it, many times what it costs to begin one.
  static constexpr std::size_t kPiece = std::size_t{32} << 20;

  /// Sends `parts`, one after another, and calls `arrived(data, first, bytes)` for each piece: what was queued to
  /// `stream` by then finds bytes [first, first + bytes) of all parts at `data`, on the device, and may read them
  /// until the next piece.
  void send(std::span<const HostBytes> parts, const Stream& stream,
            const std::function<void(const std::byte* data, std::size_t first, std::size_t bytes)>& arrived);
  /// The same, to stay at `to`.
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
