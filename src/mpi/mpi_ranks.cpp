#include "headscope/mpi/mpi_ranks.h"

#include <mpi.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "headscope/base/message.h"
#include "mpi/exchange.h"
#include "mpi/transfer.h"

namespace headscope {
namespace {

using namespace std::chrono_literals;

// Interval between polls that progress messages while this process computes; a poll takes a few microseconds of CPU
// time. On systems where a process may not read another's memory, each poll moves one piece.
constexpr auto kBetweenLooks = 50us;

class MpiRanks final : public Ranks {
 public:
  explicit MpiRanks(std::function<void()> check) : check_(std::move(check)) {
    int level = 0;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "Init_thread");
    for (MPI_Comm* communicator : {&direct_, &ring_, &failures_}) {
      check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, communicator), "Comm_dup");
      MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN);
    }
    MPI_Comm_rank(direct_, &rank_);
    MPI_Comm_size(direct_, &size_);
    MPI_Comm machine = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(direct_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine), "Comm_split_type");
    MPI_Comm_rank(machine, &local_rank_);
    MPI_Comm_free(&machine);
    exchange_.emplace(ring_, /*share_memory=*/true);
    if (level >= MPI_THREAD_SERIALIZED && size_ > 1) mover_ = std::thread([this] { move_messages(); });
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  ~MpiRanks() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      moving_ = false;
    }
    wake_.notify_all();
    if (mover_.joinable()) mover_.join();
    // Transfers are still pending only after a failure, which all ranks know about.
    shift_out_.abandon();
    shift_in_.abandon();
    exchange_->abandon();
    direct_out_.abandon();
    direct_in_.abandon();
    MPI_Finalize();
  }

  [[nodiscard]] std::size_t rank() const noexcept override { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::size_t size() const noexcept override { return static_cast<std::size_t>(size_); }
  [[nodiscard]] std::size_t local_rank() const noexcept override { return static_cast<std::size_t>(local_rank_); }
  [[nodiscard]] std::string host() const override {
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    const std::lock_guard lock(mutex_);
    MPI_Get_processor_name(name.data(), &length);
    return {name.data(), static_cast<std::size_t>(length)};
  }

  void send(std::size_t to, std::span<const std::byte> bytes) override {
    {
      const std::lock_guard lock(mutex_);
      direct_out_.begin(direct_, static_cast<int>(to), bytes);
    }
    wait_until([this] { return direct_out_.is_done(); });
  }

  [[nodiscard]] std::vector<std::byte> receive(std::size_t from) override {
    {
      const std::lock_guard lock(mutex_);
      direct_in_.begin(direct_, static_cast<int>(from));
    }
    wait_until([this] { return direct_in_.is_done(); });
    return direct_in_.take();
  }

  void begin_shift(std::vector<std::byte> bytes) override {
    {
      const std::lock_guard lock(mutex_);
      shift_buffer_ = std::move(bytes);
      shift_in_.begin(ring_, (rank_ + size_ - 1) % size_);
      shift_out_.begin(ring_, (rank_ + 1) % size_, shift_buffer_);
      moving_ = true;
    }
    wake_.notify_all();
  }

  [[nodiscard]] std::vector<std::byte> finish_shift() override {
    wait_for_move();
    shift_buffer_ = {};
    return shift_in_.take();
  }

  [[nodiscard]] std::vector<std::span<float>> exchange_buffers(std::span<const std::size_t> counts) override {
    return exchange_->room(counts);
  }

  void begin_exchange() override {
    {
      const std::lock_guard lock(mutex_);
      exchange_->begin();
      moving_ = exchange_->has_large_messages();
    }
    wake_.notify_all();
  }

  [[nodiscard]] std::vector<std::span<const float>> receive_exchange() override {
    wait_for_move();
    return exchange_->take();
  }

  void announce_failure(int code, const std::string& message) noexcept override {
    try {
      MessageWriter text;
      text.put(code);
      text.put_text(message);
      failure_message_ = std::move(text).release();
      const std::lock_guard lock(mutex_);
      for (int to = 0; to < size_; ++to) {
        if (to == rank_) continue;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(failure_message_.data(), static_cast<int>(failure_message_.size()), MPI_BYTE, to, 0, failures_,
                  &request);
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);  // short enough to be sent eagerly
      }
    } catch (...) {  // NOLINT(bugprone-empty-catch): there is nobody left to tell
    }
  }

  [[nodiscard]] double seconds_waited() const noexcept override { return waited_; }
  [[nodiscard]] std::size_t read_in_place() const noexcept override { return exchange_->read_in_place(); }

 private:
  // Returns whether the shift or exchange is complete. Called by the mover thread and by whoever waits for completion,
  // with the mutex held.
  bool is_move_done() {
    bool done = shift_out_.is_done();
    done = shift_in_.is_done() && done;
    done = exchange_->is_done() && done;
    if (done) moving_ = false;
    return done;
  }

  void wait_for_move() {
    const auto begin = std::chrono::steady_clock::now();
    wait_until([this] { return is_move_done(); });
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  void move_messages() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      if (!moving_) {
        wake_.wait(lock);
        continue;
      }
      try {
        static_cast<void>(is_move_done());
      } catch (const Error&) {
        moving_ = false;  // the waiting thread will see the same error
      }
      lock.unlock();
      std::this_thread::sleep_for(kBetweenLooks);
      lock.lock();
    }
  }

  template <typename Condition>
  void wait_until(const Condition& is_done) {
    constexpr int kPatience = 2000;
    for (int looks = 0;; ++looks) {
      {
        const std::lock_guard lock(mutex_);
        if (is_done()) return;
        check_for_failure();
      }
      check_();
      if (looks < kPatience) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kBetweenLooks);
      }
    }
  }

  void check_for_failure() {
    int there = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, 0, failures_, &there, &status), "Iprobe");
    if (there == 0) return;
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    std::vector<std::byte> words(static_cast<std::size_t>(count));
    check_mpi(MPI_Recv(words.data(), count, MPI_BYTE, status.MPI_SOURCE, 0, failures_, MPI_STATUS_IGNORE), "Recv");
    MessageReader message(words);
    const int code = message.take<int>();
    throw RankFailed(static_cast<std::size_t>(status.MPI_SOURCE), code, message.take_text());
  }

  std::function<void()> check_;
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  MPI_Comm direct_ = MPI_COMM_NULL;    // send and receive
  MPI_Comm ring_ = MPI_COMM_NULL;      // shifts and exchanges
  MPI_Comm failures_ = MPI_COMM_NULL;  // failure announcements

  mutable std::mutex mutex_;  // held by whoever calls MPI
  Outgoing direct_out_;
  IncomingBytes direct_in_;
  std::vector<std::byte> shift_buffer_;
  Outgoing shift_out_;
  IncomingBytes shift_in_;
  std::optional<Exchange> exchange_;  // created after MPI_Init
  bool moving_ = false;
  bool ending_ = false;
  std::condition_variable wake_;
  std::thread mover_;
  std::vector<std::byte> failure_message_;
  double waited_ = 0;
};

}  // namespace

std::unique_ptr<Ranks> mpi_ranks(std::function<void()> check) {
  return std::make_unique<MpiRanks>(std::move(check));
}

}  // namespace headscope
