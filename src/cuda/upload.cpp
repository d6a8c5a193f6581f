#include "cuda/upload.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "headscope/base/parallel.h"

namespace headscope::cuda {
namespace {

// Bytes that one thread copies at a time.
constexpr std::size_t kCopy = std::size_t{1} << 20;

// Reads parts as one sequence.
class PartReader {
 public:
  explicit PartReader(std::span<const HostBytes> parts) : parts_(parts) {}

  // Copies the next `bytes` bytes to `to`.
  void read(std::size_t bytes, std::byte* to) {
    struct Copy {
      const std::byte* from;
      std::byte* to;
      std::size_t bytes;
    };
    std::vector<Copy> copies;
    while (bytes > 0) {
      const HostBytes part = parts_[part_];
      const std::size_t count = std::min({bytes, kCopy, part.size() - offset_});
      if (count > 0) copies.push_back({part.data() + offset_, to, count});
      offset_ += count;
      to += count;
      bytes -= count;
      if (offset_ == part.size()) {
        ++part_;
        offset_ = 0;
      }
    }
    parallel_for(copies.size(), [&](std::size_t i) { std::memcpy(copies[i].to, copies[i].from, copies[i].bytes); });
  }

 private:
  std::span<const HostBytes> parts_;
  std::size_t part_ = 0;
  std::size_t offset_ = 0;
};

std::size_t size_of(std::span<const HostBytes> parts) {
  std::size_t total = 0;
  for (const HostBytes part : parts) total += part.size();
  return total;
}

}  // namespace

void Upload::send_pieces(std::span<const HostBytes> parts, const Stream& stream,
                         const std::function<std::byte*(std::size_t first)>& place,
                         const std::function<void(std::size_t first, std::size_t bytes)>& sent) {
  const std::size_t total = size_of(parts);
  PartReader reader(parts);
  std::size_t turn = 0;
  for (std::size_t first = 0; first < total; first += kPiece) {
    Lane& lane = lanes_[turn++ % lanes_.size()];
    const std::size_t bytes = std::min(kPiece, total - first);
    lane.sent.wait();
    lane.memory.need(std::min(kPiece, total));
    reader.read(bytes, lane.memory.as<std::byte>());
    check(cudaMemcpyAsync(place(first), lane.memory.as(), bytes, cudaMemcpyHostToDevice, stream.get()),
          "cannot copy to the device");
    lane.sent.record(stream);
    sent(first, bytes);
  }
}

void Upload::send(std::span<const HostBytes> parts, const Stream& stream,
                  const std::function<void(const std::byte* data, std::size_t first, std::size_t bytes)>& arrived) {
  piece_.need(std::min(kPiece, size_of(parts)));
  send_pieces(
      parts, stream, [&](std::size_t) { return piece_.as<std::byte>(); },
      [&](std::size_t first, std::size_t bytes) { arrived(piece_.as<std::byte>(), first, bytes); });
}

void Upload::send(std::span<const HostBytes> parts, const Stream& stream, std::byte* to) {
  send_pieces(
      parts, stream, [&](std::size_t first) { return to + first; }, [](std::size_t, std::size_t) {});
}

}  // namespace headscope::cuda
