#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/base/ranks.h"

namespace headscope::test {

/// State shared by the threads of one group: letters by (from, to, ring), and the first failure.
struct PostOffice {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::tuple<std::size_t, std::size_t, bool>, std::deque<std::vector<std::byte>>> letters;
  std::optional<RankFailed> failure;
};

/// A rank implemented as a thread of the test.
class ThreadRank final : public Ranks {
 public:
  ThreadRank(PostOffice& office, std::size_t rank, std::size_t size) : office_(office), rank_(rank), size_(size) {}

  [[nodiscard]] std::size_t rank() const noexcept override { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  [[nodiscard]] std::size_t local_rank() const noexcept override { return rank_; }
  [[nodiscard]] std::string host() const override { return "machine" + std::to_string(rank_); }

  void send(std::size_t to, std::span<const std::byte> bytes) override {
    post(to, false, {bytes.begin(), bytes.end()});
  }
  [[nodiscard]] std::vector<std::byte> receive(std::size_t from) override { return wait_for(from, false); }
  void begin_shift(std::vector<std::byte> bytes) override { post((rank_ + 1) % size_, true, std::move(bytes)); }
  [[nodiscard]] std::vector<std::byte> finish_shift() override { return wait_for((rank_ + size_ - 1) % size_, true); }
  [[nodiscard]] std::vector<std::span<float>> exchange_buffers(std::span<const std::size_t> counts) override {
    given_.clear();
    std::vector<std::span<float>> room;
    for (std::size_t to = 0; to < size_; ++to) room.push_back(given_.emplace_back(counts[to]).values());
    return room;
  }
  void begin_exchange() override {
    for (std::size_t to = 0; to < size_; ++to) {
      const std::span<const std::byte> bytes = std::as_bytes(given_[to].values());
      if (to != rank_) post(to, true, {bytes.begin(), bytes.end()});
    }
    given_.clear();
  }
  [[nodiscard]] std::vector<std::span<const float>> receive_exchange() override {
    std::vector<Buffer<float>> numbers(size_);
    for (std::size_t from = 0; from < size_; ++from) {
      if (from == rank_) continue;
      const std::vector<std::byte> bytes = wait_for(from, true);
      numbers[from] = Buffer<float>(bytes.size() / sizeof(float));
      if (!bytes.empty()) std::memcpy(numbers[from].data(), bytes.data(), bytes.size());
    }
    taken_ = std::move(numbers);  // invalidates what was taken before
    std::vector<std::span<const float>> views;
    for (const Buffer<float>& from : taken_) views.push_back(from.values());
    return views;
  }
  void announce_failure(int code, const std::string& message) noexcept override {
    const std::lock_guard lock(office_.mutex);
    if (!office_.failure) office_.failure.emplace(rank_, code, message);
    office_.changed.notify_all();
  }
  [[nodiscard]] double seconds_waited() const noexcept override { return 0; }
  [[nodiscard]] std::size_t read_in_place() const noexcept override { return 0; }

 private:
  void post(std::size_t to, bool ring, std::vector<std::byte> bytes) {
    const std::lock_guard lock(office_.mutex);
    office_.letters[{rank_, to, ring}].push_back(std::move(bytes));
    office_.changed.notify_all();
  }
  std::vector<std::byte> wait_for(std::size_t from, bool ring) {
    std::unique_lock lock(office_.mutex);
    auto& box = office_.letters[{from, rank_, ring}];
    office_.changed.wait(lock, [&] { return !box.empty() || office_.failure; });
    if (box.empty()) throw *office_.failure;
    std::vector<std::byte> bytes = std::move(box.front());
    box.pop_front();
    return bytes;
  }

  PostOffice& office_;
  std::size_t rank_;
  std::size_t size_;
  std::vector<Buffer<float>> given_;  // buffers of an exchange that has not started
  std::vector<Buffer<float>> taken_;  // of the last finished exchange
};

/// Runs `work(ranks)` on `size` ranks concurrently. A rank that throws announces its failure; the exception of the
/// lowest such rank, not counting RankFailed, is rethrown here.
inline void on_ranks(std::size_t size, const std::function<void(Ranks&)>& work) {
  PostOffice office;
  std::vector<std::exception_ptr> errors(size);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadRank ranks(office, rank, size);
      try {
        work(ranks);
      } catch (const RankFailed&) {
        return;
      } catch (...) {
        errors[rank] = std::current_exception();
        ranks.announce_failure(1, "a rank failed");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace headscope::test
