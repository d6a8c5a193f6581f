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

/// Thrown when another rank has failed; holds that rank's exit code and message.
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

/// An error that all ranks throw together, so that it need not be announced.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// A range of a list: elements from `begin` up to but not including `end`.
struct IndexRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};
/// Returns the range of `sharer` when `count` elements are split as evenly as possible among `sharers`, in order.
[[nodiscard]] constexpr IndexRange partition_range(std::size_t count, std::size_t sharer,
                                                   std::size_t sharers) noexcept {
  return {sharer * count / sharers, (sharer + 1) * count / sharers};
}

/// The processes that share one computation, each with its own memory; usually there is only one. All ranks make the
/// same calls in the same order. Not thread-safe: use from one thread at a time.
///
/// Every call that waits for another rank throws RankFailed as soon as any rank announces a failure, so that no rank
/// waits for one that is gone.
class Ranks {
 public:
  virtual ~Ranks() = default;

  [[nodiscard]] virtual std::size_t rank() const noexcept = 0;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  /// Rank among those on the same machine; used to select a device.
  [[nodiscard]] virtual std::size_t local_rank() const noexcept = 0;
  /// Host name of this machine.
  [[nodiscard]] virtual std::string host() const = 0;
  /// Returns whether this is rank 0, which does the work that is done only once: writing files and printing.
  [[nodiscard]] bool is_root() const noexcept { return rank() == 0; }

  /// Blocking send: returns when `bytes` may be reused. Messages from one rank to another arrive in the order of their
  /// sends.
  virtual void send(std::size_t to, std::span<const std::byte> bytes) = 0;
  /// Blocking receive.
  [[nodiscard]] virtual std::vector<std::byte> receive(std::size_t from) = 0;

  /// Ring shift: starts a nonblocking send to the next rank and a nonblocking receive from the previous one; both
  /// overlap with computation. One shift at a time.
  virtual void begin_shift(std::vector<std::byte> bytes) = 0;
  /// Waits for the shift and returns the bytes from the previous rank.
  [[nodiscard]] virtual std::vector<std::byte> finish_shift() = 0;

  /// All-to-all exchange of numbers, in three steps. One exchange at a time, and none during a shift.
  ///
  /// Step 1: returns, for each of the other ranks, a buffer for that many numbers. Ranks on the same machine read it in
  /// place, without a copy. `counts` has one entry per rank; the entry of this rank is 0, since it sends nothing to
  /// itself.
  [[nodiscard]] virtual std::vector<std::span<float>> exchange_buffers(std::span<const std::size_t> counts) = 0;
  /// Step 2, once the buffers are filled: starts the transfers, which overlap with computation.
  virtual void begin_exchange() = 0;
  /// Step 3: returns what every rank sent to this one, valid until the next exchange is finished.
  /// \throws Error  kBackend unless every rank sent as many numbers as expected.
  [[nodiscard]] std::vector<std::span<const float>> finish_exchange(std::span<const std::size_t> expected);

  /// Announces to all other ranks that this rank has failed.
  virtual void announce_failure(int code, const std::string& message) noexcept = 0;

  /// Total seconds spent waiting in `finish_shift` and `finish_exchange`: communication not hidden by computation.
  [[nodiscard]] virtual double seconds_waited() const noexcept = 0;
  /// Number of other ranks whose numbers this rank reads from shared memory: those on the same machine, if the system
  /// allows it.
  [[nodiscard]] virtual std::size_t read_in_place() const noexcept = 0;

  // Collectives built from the functions above.

  /// Gather: on rank 0, calls `consume(rank, bytes)` with the bytes of every other rank, in rank order.
  void gather(std::span<const std::byte> bytes,
              const std::function<void(std::size_t, std::span<const std::byte>)>& consume);
  /// Broadcast: replaces `bytes` on all ranks by those of rank 0.
  void broadcast(std::vector<std::byte>& bytes);
  /// Barrier: returns when all ranks have called it.
  void barrier();
  /// All-reduce: for each flag, returns whether it is set on any rank. All ranks must pass the same number of flags.
  [[nodiscard]] std::vector<std::uint8_t> all_reduce_or(std::vector<std::uint8_t> flags);
  /// All-reduce: returns the maximum over all ranks.
  [[nodiscard]] std::size_t all_reduce_max(std::size_t number);
  /// All-reduce: returns the element-wise maximum over all ranks. All ranks must pass the same number of elements, here
  /// and in `all_reduce_sum`.
  [[nodiscard]] std::vector<float> all_reduce_max(std::vector<float> numbers);
  /// All-reduce: replaces each number by its exact sum over all ranks. Uses an exchange.
  void all_reduce_sum(std::span<std::int64_t> numbers);

  /// For steps that can fail on some ranks only: if any rank has failed, all throw an AgreedError. An error of rank 0
  /// is thrown unchanged; an error of another rank (e.g. a file missing on its machine) is thrown as kBackend, with the
  /// rank and its machine. A single rank throws its own Error.
  void agree(const std::optional<Error>& own);
  /// Calls `work()` on every rank, then `agree`.
  template <typename Work>
  auto run_and_agree(const Work& work) {
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
  /// Returns what every rank sent to this one in an exchange, without checking the counts.
  [[nodiscard]] virtual std::vector<std::span<const float>> receive_exchange() = 0;
};

/// The trivial implementation: this process is the only rank.
[[nodiscard]] Ranks& one_rank() noexcept;

}  // namespace headscope
