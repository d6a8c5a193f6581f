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

// Interval between polls, in which MPI makes progress on messages while this process computes. A poll takes a few
// microseconds of CPU time. Where MPI may not read the memory of another process, each poll transfers one fragment.
constexpr auto kPollInterval = 50us;

class MpiRanks final : public Ranks {
 public:
  explicit MpiRanks(std::function<void()> check) : check_(std::move(check)) {
    int level = 0;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "Init_thread");
    for (MPI_Comm* communicator : {&point_to_point_, &ring_, &failures_}) {
      check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, communicator), "Comm_dup");
      MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN);
    }
    MPI_Comm_rank(point_to_point_, &rank_);
    MPI_Comm_size(point_to_point_, &size_);
    MPI_Comm node = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(point_to_point_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
              "Comm_split_type");
    MPI_Comm_rank(node, &local_rank_);
    MPI_Comm_free(&node);
    exchange_.emplace(ring_, /*share_memory=*/true);
    if (level >= MPI_THREAD_SERIALIZED && size_ > 1) progress_thread_ = std::thread([this] { poll_transfers(); });
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  ~MpiRanks() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      polling_ = false;
    }
    wake_.notify_all();
    if (progress_thread_.joinable()) progress_thread_.join();
    // Transfers are still pending only after a failure, which all ranks know about.
    shift_out_.abandon();
    shift_in_.abandon();
    exchange_->abandon();
    point_to_point_out_.abandon();
    point_to_point_in_.abandon();
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
      point_to_point_out_.begin(point_to_point_, static_cast<int>(to), bytes);
    }
    wait_until([this] { return point_to_point_out_.is_done(); });
  }

  [[nodiscard]] std::vector<std::byte> receive(std::size_t from) override {
    {
      const std::lock_guard lock(mutex_);
      point_to_point_in_.begin(point_to_point_, static_cast<int>(from));
    }
    wait_until([this] { return point_to_point_in_.is_done(); });
    return point_to_point_in_.take();
  }

  void begin_shift(std::vector<std::byte> bytes) override {
    {
      const std::lock_guard lock(mutex_);
      shift_buffer_ = std::move(bytes);
      shift_in_.begin(ring_, (rank_ + size_ - 1) % size_);
      shift_out_.begin(ring_, (rank_ + 1) % size_, shift_buffer_);
      polling_ = true;
    }
    wake_.notify_all();
  }

  [[nodiscard]] std::vector<std::byte> finish_shift() override {
    wait_for_transfer();
    shift_buffer_ = {};
    return shift_in_.take();
  }

  [[nodiscard]] std::vector<std::span<float>> exchange_buffers(std::span<const std::size_t> counts) override {
    return exchange_->send_buffers(counts);
  }

  void begin_exchange() override {
    {
      const std::lock_guard lock(mutex_);
      exchange_->begin();
      polling_ = exchange_->has_large_messages();
    }
    wake_.notify_all();
  }

  [[nodiscard]] std::vector<std::span<const float>> receive_exchange() override {
    wait_for_transfer();
    return exchange_->receive();
  }

  void announce_failure(int code, const std::string& message) noexcept override {
    try {
      MessageWriter message_bytes;
      message_bytes.put(code);
      message_bytes.put_text(message);
      failure_message_ = std::move(message_bytes).release();
      const std::lock_guard lock(mutex_);
      for (int to = 0; to < size_; ++to) {
        if (to == rank_) continue;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(failure_message_.data(), static_cast<int>(failure_message_.size()), MPI_BYTE, to, 0, failures_,
                  &request);
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);  // short enough to be sent eagerly
      }
    } catch (...) {  // NOLINT(bugprone-empty-catch): no other way to report the failure is left
    }
  }

  [[nodiscard]] double seconds_waited() const noexcept override { return waited_; }
  [[nodiscard]] std::size_t read_in_place() const noexcept override { return exchange_->read_in_place(); }

 private:
  // Returns whether the shift or exchange is complete. Called by the progress thread and by a thread that waits, with
  // the mutex held.
  bool is_transfer_done() {
    bool done = shift_out_.is_done();
    done = shift_in_.is_done() && done;
    done = exchange_->is_done() && done;
    if (done) polling_ = false;
    return done;
  }

  void wait_for_transfer() {
    const auto begin = std::chrono::steady_clock::now();
    wait_until([this] { return is_transfer_done(); });
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  void poll_transfers() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      if (!polling_) {
        wake_.wait(lock);
        continue;
      }
      try {
        static_cast<void>(is_transfer_done());
      } catch (const Error&) {
        polling_ = false;  // the waiting thread will see the same error
      }
      lock.unlock();
      std::this_thread::sleep_for(kPollInterval);
      lock.lock();
    }
  }

  template <typename Condition>
  void wait_until(const Condition& is_done) {
    constexpr int kBusyPolls = 2000;
    for (int polls = 0;; ++polls) {
      {
        const std::lock_guard lock(mutex_);
        if (is_done()) return;
        check_for_failure();
      }
      check_();
      if (polls < kBusyPolls) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kPollInterval);
      }
    }
  }

  void check_for_failure() {
    int found = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, 0, failures_, &found, &status), "Iprobe");
    if (found == 0) return;
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    check_mpi(MPI_Recv(bytes.data(), count, MPI_BYTE, status.MPI_SOURCE, 0, failures_, MPI_STATUS_IGNORE), "Recv");
    MessageReader message(bytes);
    const int code = message.take<int>();
    throw RankFailed(static_cast<std::size_t>(status.MPI_SOURCE), code, message.take_text());
  }

  std::function<void()> check_;
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  MPI_Comm point_to_point_ = MPI_COMM_NULL;  // send and receive
  MPI_Comm ring_ = MPI_COMM_NULL;            // shifts and exchanges
  MPI_Comm failures_ = MPI_COMM_NULL;        // failure announcements

  mutable std::mutex mutex_;  // serializes calls of MPI
  Outgoing point_to_point_out_;
  IncomingBytes point_to_point_in_;
  std::vector<std::byte> shift_buffer_;
  Outgoing shift_out_;
  IncomingBytes shift_in_;
  std::optional<Exchange> exchange_;  // created after MPI_Init
  bool polling_ = false;              // whether the progress thread polls
  bool ending_ = false;
  std::condition_variable wake_;
  std::thread progress_thread_;
  std::vector<std::byte> failure_message_;
  double waited_ = 0;
};

}  // namespace

std::unique_ptr<Ranks> mpi_ranks(std::function<void()> check) {
  return std::make_unique<MpiRanks>(std::move(check));
}

}  // namespace headscope
