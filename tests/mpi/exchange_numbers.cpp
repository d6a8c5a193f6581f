// exchange_numbers shared|messages: run by mpirun. Exchanges numbers with the other ranks many times, through shared
// memory or by messages as between machines, and exits 1 with a message if a number is wrong.

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "mpi/exchange.h"

using namespace headscope;

namespace {

// How many numbers one rank sends another in a round: sometimes none, and occasionally more than ever before.
std::size_t count_of(std::size_t round, std::size_t from, std::size_t to) {
  return (round * 7919 + from * 31 + to * 17) % 5 == 0 ? 0 : (round + 1) * (round % 10 == 9 ? 400 : 20) + from + to;
}

float number_of(std::size_t round, std::size_t from, std::size_t to, std::size_t i) {
  return static_cast<float>(((round * 8 + from) * 8 + to) * 8 + i % 8);
}

bool is_right(std::span<const float> numbers, std::size_t round, std::size_t from, std::size_t to) {
  if (numbers.size() != count_of(round, from, to)) return false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != number_of(round, from, to, i)) return false;
  }
  return true;
}

// Returns the first round that fails, or the number of rounds.
std::size_t exchange_all(Exchange& exchange, std::size_t rank, std::size_t ranks, std::size_t rounds) {
  std::minstd_rand pause(static_cast<unsigned>(rank + 1));
  std::vector<std::span<const float>> found;
  const auto all_right = [&](std::size_t round) {
    for (std::size_t from = 0; from < ranks; ++from) {
      if (from != rank && !is_right(found[from], round, from, rank)) return false;
    }
    return true;
  };
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<std::size_t> counts(ranks, 0);
    for (std::size_t to = 0; to < ranks; ++to) counts[to] = to == rank ? 0 : count_of(round, rank, to);
    const std::vector<std::span<float>> buffers = exchange.send_buffers(counts);
    for (std::size_t to = 0; to < ranks; ++to) {
      for (std::size_t i = 0; i < buffers[to].size(); ++i) buffers[to][i] = number_of(round, rank, to, i);
    }
    exchange.begin();
    // Let ranks run ahead of and fall behind one another; the previous results must stay valid until the next are
    // taken.
    std::this_thread::sleep_for(std::chrono::microseconds(pause() % 500));
    if (round > 0 && !all_right(round - 1)) return round - 1;
    while (!exchange.is_done()) std::this_thread::yield();
    found = exchange.receive();
    if (!all_right(round)) return round;
  }
  return rounds;
}

bool opens_only_what_is_meant() {
  const SharedMemory memory(5000);
  SharedMemory::Address other = memory.address();
  if (!SharedMemory::open(other)) return false;
  other.name ^= 1;
  if (SharedMemory::open(other)) return false;
  other = memory.address();
  other.size += 1;
  if (SharedMemory::open(other)) return false;
  other = memory.address();
  other.descriptor = 0;
  return !SharedMemory::open(other);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t kRounds = 300;
  const bool share = argc > 1 && std::string_view(argv[1]) == "shared";
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bool right = opens_only_what_is_meant();
  if (!right) std::puts("another memory was opened, or the one that was meant was not");
  {
    Exchange exchange(MPI_COMM_WORLD, share);
    if (exchange.read_in_place() != (share ? static_cast<std::size_t>(ranks) - 1 : 0)) {
      std::printf("rank %d reads from %zu others in place\n", rank, exchange.read_in_place());
      right = false;
    }
    const std::size_t done =
        exchange_all(exchange, static_cast<std::size_t>(rank), static_cast<std::size_t>(ranks), kRounds);
    if (done < kRounds) {
      std::printf("rank %d has wrong numbers of round %zu\n", rank, done);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
