#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headscope/base/error.h"

namespace headscope {

/// Another rank has given up: with what exit code, and what it said.
class RankFailed : public std::exception {
 public:
  RankFailed(std::size_t rank, int code, std::string message)
      : rank_(rank), code_(code), message_(std::move(message)) {}

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::size_t rank_;
  int code_;
  std::string message_;
};

/// What all ranks throw together, each knowing of it.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Some of a list, those from `begin` up to, not with, `end`.
struct Share {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
  friend bool operator==(const Share&, const Share&) = default;
};
/// What one of `sharers` has of `count` things that are dealt out as evenly as can be, in their order.
[[nodiscard]] constexpr Share share_of(std::size_t count, std::size_t sharer, std::size_t sharers) noexcept {
  return {sharer * count / sharers, (sharer + 1) * count / sharers};
}

/// The processes that share one computation, each with a memory of its own; usually there is one. All of them make
/// the same calls in the same order. Used by one thread at a time.
///
/// Whatever waits for another rank here throws RankFailed as soon as any rank says that it has failed, so that no rank
/// waits for one that is gone.
class Ranks {
 public:
  virtual ~Ranks() = default;

  [[nodiscard]] virtual std::size_t rank() const noexcept = 0;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  /// Counted among the ranks on the same machine: which of its devices to take.
  [[nodiscard]] virtual std::size_t local_rank() const noexcept = 0;
  /// The name of the machine.
  [[nodiscard]] virtual std::string host() const = 0;
  /// Rank 0 goes on to what is done once: files and printing.
  [[nodiscard]] bool is_root() const noexcept { return rank() == 0; }

  /// Returns when the bytes are on their way. What one rank sends to another arrives in that order.
  virtual void send(std::size_t to, std::span<const std::byte> bytes) = 0;
  [[nodiscard]] virtual std::vector<std::byte> receive(std::size_t from) = 0;

  /// Begins to give bytes to the next rank around the ring and to take what the previous one gives: both move while
  /// this rank computes. One shift at a time.
  virtual void begin_shift(std::vector<std::byte> bytes) = 0;
  /// What the previous rank gave.
  [[nodiscard]] virtual std::vector<std::byte> finish_shift() = 0;

  /// Every rank gives every other one numbers, in three steps; one exchange at a time, and none during a shift.
  ///
  /// First: where to write so many numbers for each of the others. Ranks on one machine read them there, without a
  /// copy. The counts have an entry for every rank; that of this one is 0, as what it has it need not give.
  [[nodiscard]] virtual std::vector<std::span<float>> exchange_room(std::span<const std::size_t> counts) = 0;
  /// Then they are written, and leave: they move while this rank computes.
  virtual void begin_exchange() = 0;
  /// At last what every rank gave this one, to be read until the next exchange is finished.
  /// \throws Error  kBackend unless each gave as many numbers as are expected of it.
  [[nodiscard]] std::vector<std::span<const float>> finish_exchange(std::span<const std::size_t> expected);

  /// Tells all others that this rank gives up.
  virtual void announce_failure(int code, const std::string& message) noexcept = 0;

  /// Seconds that `finish_shift` and `finish_exchange` have waited so far: communication that computing did not hide.
  [[nodiscard]] virtual double seconds_waited() const noexcept = 0;
  /// How many other ranks give this one numbers in memory that both have: those on its machine, if the system lets it.
  [[nodiscard]] virtual std::size_t read_in_place() const noexcept = 0;

  // Made of the above.

  /// On rank 0 calls `consume(rank, bytes)` with what each of the other ranks gave, rank after rank.
  void gather(std::span<const std::byte> bytes,
              const std::function<void(std::size_t, std::span<const std::byte>)>& consume);
  /// What rank 0 gives, everywhere.
  void broadcast(std::vector<std::byte>& bytes);
  /// Returns when all ranks have come here.
  void barrier();
  /// Of each flag, whether it is set anywhere. The same number everywhere.
  [[nodiscard]] std::vector<std::uint8_t> any(std::vector<std::uint8_t> flags);
  /// The largest of one number a rank, everywhere.
  [[nodiscard]] std::size_t largest(std::size_t number);
  /// Of each number, the largest anywhere. The same number of them everywhere; so with the next.
  [[nodiscard]] std::vector<float> largest_of_each(std::vector<float> numbers);
  /// Of each number, the sum over all ranks, which is exact. An exchange by itself.
  void add_up(std::span<std::int64_t> numbers);

  /// Where ranks may succeed or fail each for itself: if one has failed, all throw an AgreedError. What rank 0 met is
  /// thrown as it is; what another met (a file that its machine lacks) as kBackend, with its rank and machine. One rank
  /// alone throws its own Error.
  void agree(const std::optional<Error>& own);
  /// `work()` on every rank, and then `agree`.
  template <typename Work>
  auto together(const Work& work) {
    std::optional<decltype(work())> done;
    std::optional<Error> failure;
    try {
      done.emplace(work());
    } catch (const Error& error) {
      failure = error;
    }
    agree(failure);
    return std::move(*done);
  }

 protected:
  /// What every rank gave this one in an exchange, however much it is.
  [[nodiscard]] virtual std::vector<std::span<const float>> take_exchange() = 0;
};

/// This process alone.
[[nodiscard]] Ranks& one_rank() noexcept;

}  // namespace headscope
