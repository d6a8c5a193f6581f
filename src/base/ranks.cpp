#include "headscope/base/ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "headscope/base/message.h"

namespace headscope {
namespace {

class OneRank final : public Ranks {
 public:
  [[nodiscard]] std::size_t rank() const noexcept override { return 0; }
  [[nodiscard]] std::size_t size() const noexcept override { return 1; }
  [[nodiscard]] std::size_t local_rank() const noexcept override { return 0; }
  [[nodiscard]] std::string host() const override { return "this machine"; }

  // Nobody to send to, and a shift comes back.
  void send(std::size_t /*to*/, std::span<const std::byte> /*bytes*/) override {}
  [[nodiscard]] std::vector<std::byte> receive(std::size_t /*from*/) override { return {}; }
  void begin_shift(std::vector<std::byte> bytes) override { shifted_ = std::move(bytes); }
  [[nodiscard]] std::vector<std::byte> finish_shift() override { return std::move(shifted_); }
  void begin_exchange(std::vector<Buffer<float>> numbers) override { exchanged_ = std::move(numbers); }
  [[nodiscard]] std::vector<Buffer<float>> finish_exchange() override { return std::move(exchanged_); }
  void announce_failure(int /*code*/, const std::string& /*message*/) noexcept override {}
  [[nodiscard]] double seconds_waited() const noexcept override { return 0; }

 private:
  std::vector<std::byte> shifted_;
  std::vector<Buffer<float>> exchanged_;
};

// Rank 0 combines the lists of all ranks, number by number, and all get what comes out.
template <typename T, typename Combine>
void combine_lists(Ranks& ranks, std::span<T> numbers, const Combine& combine) {
  if (ranks.size() == 1) return;
  ranks.gather(std::as_bytes(numbers), [&](std::size_t from, std::span<const std::byte> bytes) {
    if (bytes.size() != numbers.size_bytes()) {
      throw Error(ErrorKind::kBackend,
                  fmt::format("rank {} has {} numbers to combine, rank 0 {}: do all run the same command?", from,
                              bytes.size() / sizeof(T), numbers.size()));
    }
    MessageReader message(bytes);
    for (T& number : numbers) number = combine(number, message.take<T>());
  });
  const std::span<const std::byte> known = std::as_bytes(numbers);
  std::vector<std::byte> all(known.begin(), known.end());
  ranks.broadcast(all);
  MessageReader(all).take_all(numbers);
}

// What a rank tells about itself in `agree`.
std::vector<std::byte> describe(const std::optional<Error>& failure, const std::string& host) {
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

std::vector<std::uint8_t> Ranks::any(std::vector<std::uint8_t> flags) {
  combine_lists(*this, std::span(flags),
                [](std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a | b); });
  return flags;
}

std::size_t Ranks::largest(std::size_t number) {
  combine_lists(*this, std::span(&number, 1), [](std::size_t a, std::size_t b) { return std::max(a, b); });
  return number;
}

std::vector<float> Ranks::largest_of_each(std::vector<float> numbers) {
  combine_lists(*this, std::span(numbers), [](float a, float b) { return std::max(a, b); });
  return numbers;
}

void Ranks::add_up(std::span<std::int64_t> numbers) {
  combine_lists(*this, numbers, [](std::int64_t a, std::int64_t b) { return a + b; });
}

void Ranks::agree(const std::optional<Error>& own) {
  if (size() == 1) {
    if (own) throw *own;  // one rank may stand for itself in a job of several: they are still to be told
    return;
  }
  std::optional<Error> first = own;  // on rank 0
  gather(describe(own, host()), [&](std::size_t from, std::span<const std::byte> bytes) {
    MessageReader message(bytes);
    if (message.take<std::uint8_t>() == 0 || first) return;
    static_cast<void>(message.take<std::int32_t>());
    const std::string what = message.take_text();
    first.emplace(ErrorKind::kBackend, fmt::format("rank {} on {}: {}", from, message.take_text(), what));
  });
  std::vector<std::byte> verdict = describe(first, {});
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
