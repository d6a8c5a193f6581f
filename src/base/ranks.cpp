#include "headscope/base/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "headscope/base/message.h"

namespace headscope {
namespace {

class OneRank final : public Ranks {
 public:
  [[nodiscard]] std::size_t rank() const noexcept override { return 0; }
  [[nodiscard]] std::size_t size() const noexcept override { return 1; }
  [[nodiscard]] std::size_t local_rank() const noexcept override { return 0; }
  [[nodiscard]] std::string host() const override { return "this machine"; }

  // There is no rank to send to, and a shift returns its own bytes.
  void send(std::size_t /*to*/, std::span<const std::byte> /*bytes*/) override {}
  [[nodiscard]] std::vector<std::byte> receive(std::size_t /*from*/) override { return {}; }
  void begin_shift(std::vector<std::byte> bytes) override { shifted_ = std::move(bytes); }
  [[nodiscard]] std::vector<std::byte> finish_shift() override { return std::move(shifted_); }
  [[nodiscard]] std::vector<std::span<float>> exchange_buffers(std::span<const std::size_t> /*counts*/) override {
    return std::vector<std::span<float>>(1);
  }
  void begin_exchange() override {}
  [[nodiscard]] std::vector<std::span<const float>> receive_exchange() override {
    return std::vector<std::span<const float>>(1);
  }
  void announce_failure(int /*code*/, const std::string& /*message*/) noexcept override {}
  [[nodiscard]] double seconds_waited() const noexcept override { return 0; }
  [[nodiscard]] std::size_t read_in_place() const noexcept override { return 0; }

 private:
  std::vector<std::byte> shifted_;
};

// Element-wise all-reduce: a reduction on rank 0, then a broadcast.
template <typename T, typename Combine>
void all_reduce(Ranks& ranks, std::span<T> numbers, const Combine& combine) {
  if (ranks.size() == 1) return;
  ranks.gather(std::as_bytes(numbers), [&](std::size_t from, std::span<const std::byte> bytes) {
    if (bytes.size() != numbers.size_bytes()) {
      throw Error(
          ErrorKind::kBackend,
          fmt::format("all-reduce: rank {} has {} numbers, rank 0 has {}; are all ranks running the same command?",
                      from, bytes.size() / sizeof(T), numbers.size()));
    }
    MessageReader message(bytes);
    for (T& number : numbers) number = combine(number, message.take<T>());
  });
  const std::span<const std::byte> known = std::as_bytes(numbers);
  std::vector<std::byte> all(known.begin(), known.end());
  ranks.broadcast(all);
  MessageReader(all).take_all(numbers);
}

// The message of one rank in `agree`.
std::vector<std::byte> pack_failure(const std::optional<Error>& failure, const std::string& host) {
  MessageWriter message;
  message.put(static_cast<std::uint8_t>(failure ? 1 : 0));
  if (failure) {
    message.put(static_cast<std::int32_t>(failure->kind()));
    message.put_text(failure->what());
    message.put_text(host);
  }
  return std::move(message).release();
}

}  // namespace

std::vector<std::span<const float>> Ranks::finish_exchange(std::span<const std::size_t> expected) {
  std::vector<std::span<const float>> numbers = receive_exchange();
  for (std::size_t from = 0; from < numbers.size(); ++from) {
    if (from == rank() || numbers[from].size() == expected[from]) continue;
    throw Error(ErrorKind::kBackend,
                fmt::format("rank {} sent {} numbers, expected {}; are all ranks running the same command?", from,
                            numbers[from].size(), expected[from]));
  }
  return numbers;
}

void Ranks::gather(std::span<const std::byte> bytes,
                   const std::function<void(std::size_t, std::span<const std::byte>)>& consume) {
  if (!is_root()) return send(0, bytes);
  for (std::size_t from = 1; from < size(); ++from) consume(from, receive(from));
}

void Ranks::broadcast(std::vector<std::byte>& bytes) {
  if (!is_root()) {
    bytes = receive(0);
    return;
  }
  for (std::size_t to = 1; to < size(); ++to) send(to, bytes);
}

void Ranks::barrier() {
  std::vector<std::byte> nothing;
  gather(nothing, [](std::size_t, std::span<const std::byte>) {});
  broadcast(nothing);
}

std::vector<std::uint8_t> Ranks::all_reduce_or(std::vector<std::uint8_t> flags) {
  all_reduce(*this, std::span(flags), [](std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a | b); });
  return flags;
}

std::size_t Ranks::all_reduce_max(std::size_t number) {
  all_reduce(*this, std::span(&number, 1), [](std::size_t a, std::size_t b) { return std::max(a, b); });
  return number;
}

std::vector<float> Ranks::all_reduce_max(std::vector<float> numbers) {
  all_reduce(*this, std::span(numbers), [](float a, float b) { return std::max(a, b); });
  return numbers;
}

// Reduce-scatter, then all-gather: every rank sums its share of the numbers and sends the sums to all others.
void Ranks::all_reduce_sum(std::span<std::int64_t> numbers) {
  if (size() == 1) return;
  const auto part = [&](std::size_t of) {
    const IndexRange share = partition_range(numbers.size(), of, size());
    return numbers.subspan(share.begin, share.size());
  };
  // The exchange buffers are typed as floats, but hold the bytes of integers here.
  std::vector<std::size_t> parts_of_others(size(), 0);
  std::vector<std::size_t> parts_of_this(size(), 0);
  for (std::size_t other = 0; other < size(); ++other) {
    if (other == rank()) continue;
    parts_of_others[other] = part(other).size_bytes() / sizeof(float);
    parts_of_this[other] = part(rank()).size_bytes() / sizeof(float);
  }
  const auto send_all = [&](std::span<const std::size_t> counts, const auto& what) {
    const std::vector<std::span<float>> buffers = exchange_buffers(counts);
    for (std::size_t to = 0; to < size(); ++to) {
      if (counts[to] > 0) std::memcpy(buffers[to].data(), what(to).data(), what(to).size_bytes());
    }
    begin_exchange();
  };

  send_all(parts_of_others, part);
  for (const std::span<const float> terms : finish_exchange(parts_of_this)) {
    if (terms.empty()) continue;  // this rank's own, or fewer numbers than ranks
    MessageReader message(std::as_bytes(terms));
    for (std::int64_t& sum : part(rank())) sum += message.take<std::int64_t>();
  }
  send_all(parts_of_this, [&](std::size_t /*to*/) { return part(rank()); });
  const std::vector<std::span<const float>> sums = finish_exchange(parts_of_others);
  for (std::size_t from = 0; from < size(); ++from) {
    if (!sums[from].empty()) MessageReader(std::as_bytes(sums[from])).take_all(part(from));
  }
}

void Ranks::agree(const std::optional<Error>& own) {
  if (size() == 1) {
    if (own) throw *own;  // not an AgreedError: this may be one rank of a larger job, whose other ranks do not know yet
    return;
  }
  std::optional<Error> first = own;  // on rank 0
  gather(pack_failure(own, host()), [&](std::size_t from, std::span<const std::byte> bytes) {
    MessageReader message(bytes);
    if (message.take<std::uint8_t>() == 0 || first) return;
    static_cast<void>(message.take<std::int32_t>());
    const std::string what = message.take_text();
    first.emplace(ErrorKind::kBackend, fmt::format("rank {} on {}: {}", from, message.take_text(), what));
  });
  std::vector<std::byte> verdict = pack_failure(first, {});
  broadcast(verdict);
  MessageReader message(verdict);
  if (message.take<std::uint8_t>() == 0) return;
  const auto kind = static_cast<ErrorKind>(message.take<std::int32_t>());
  throw AgreedError(kind, message.take_text());
}

Ranks& one_rank() noexcept {
  static OneRank ranks;
  return ranks;
}

}  // namespace headscope
