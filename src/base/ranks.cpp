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
  void announce_failure(int /*code*/, const std::string& /*message*/) noexcept override {}
  [[nodiscard]] double seconds_waited() const noexcept override { return 0; }

 private:
  std::vector<std::byte> shifted_;
};

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
  if (size() == 1) return flags;
  gather(std::as_bytes(std::span(flags)), [&](std::size_t from, std::span<const std::byte> others) {
    if (others.size() != flags.size()) {
      throw Error(ErrorKind::kBackend, fmt::format("rank {} has {} flags, rank 0 {}: do all run the same command?",
                                                   from, others.size(), flags.size()));
    }
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] |= static_cast<std::uint8_t>(others[i]);
  });
  const std::span<const std::byte> known = std::as_bytes(std::span(flags));
  std::vector<std::byte> all(known.begin(), known.end());
  broadcast(all);
  std::ranges::transform(all, flags.begin(), [](std::byte flag) { return static_cast<std::uint8_t>(flag); });
  return flags;
}

std::size_t Ranks::largest(std::size_t number) {
  if (size() == 1) return number;
  MessageWriter own;
  own.put(number);
  gather(own.bytes(), [&](std::size_t, std::span<const std::byte> bytes) {
    number = std::max(number, MessageReader(bytes).take<std::size_t>());
  });
  MessageWriter found;
  found.put(number);
  std::vector<std::byte> bytes = std::move(found).release();
  broadcast(bytes);
  return MessageReader(bytes).take<std::size_t>();
}

void Ranks::agree(const std::optional<Error>& own) {
  if (size() == 1) {
    if (own) throw AgreedError(own->kind(), own->what());
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
