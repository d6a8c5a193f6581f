#include "mpi/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "headscope/base/error.h"

namespace headscope {
namespace {

constexpr std::size_t kMaxMessage = std::size_t{1} << 29;
constexpr int kSizeTag = 1;
constexpr int kBytesTag = 2;

bool all_done(std::vector<MPI_Request>& requests) {
  if (requests.empty()) return true;
  int done = 0;
  check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE), "Testall");
  if (done == 0) return false;
  requests.clear();
  return true;
}

std::span<std::byte> resize(std::size_t bytes, std::vector<std::byte>& memory) {
  memory.resize(bytes);
  return memory;
}
std::span<std::byte> resize(std::size_t bytes, Buffer<float>& memory) {
  memory = Buffer<float>(bytes / sizeof(float));
  return std::as_writable_bytes(memory.values());
}

}  // namespace

void check_mpi(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  throw Error(
      ErrorKind::kBackend,
      fmt::format("MPI_{}: {}", call, printable(std::string_view(text.data(), static_cast<std::size_t>(length)))));
}

void Outgoing::begin(MPI_Comm communicator, int to, std::span<const std::byte> bytes) {
  size_ = bytes.size();
  requests_.emplace_back();
  check_mpi(MPI_Isend(&size_, sizeof size_, MPI_BYTE, to, kSizeTag, communicator, &requests_.back()), "Isend");
  while (!bytes.empty()) {
    const std::span<const std::byte> part = bytes.first(std::min(kMaxMessage, bytes.size()));
    requests_.emplace_back();
    check_mpi(
        MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, to, kBytesTag, communicator, &requests_.back()),
        "Isend");
    bytes = bytes.subspan(part.size());
  }
}

bool Outgoing::is_done() {
  return all_done(requests_);
}

void Outgoing::abandon() noexcept {
  for (MPI_Request& request : requests_) MPI_Request_free(&request);
  requests_.clear();
}

template <typename Memory>
void Incoming<Memory>::begin(MPI_Comm communicator, int from) {
  communicator_ = communicator;
  from_ = from;
  sized_ = false;
  requests_.emplace_back();
  check_mpi(MPI_Irecv(&size_, sizeof size_, MPI_BYTE, from, kSizeTag, communicator, &requests_.back()), "Irecv");
}

template <typename Memory>
bool Incoming<Memory>::is_done() {
  if (!all_done(requests_)) return false;
  if (sized_) return true;
  sized_ = true;
  for (std::span<std::byte> rest = resize(size_, memory_); !rest.empty();) {
    const std::span<std::byte> part = rest.first(std::min(kMaxMessage, rest.size()));
    requests_.emplace_back();
    check_mpi(MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, from_, kBytesTag, communicator_,
                        &requests_.back()),
              "Irecv");
    rest = rest.subspan(part.size());
  }
  return all_done(requests_);
}

template <typename Memory>
void Incoming<Memory>::abandon() noexcept {
  for (MPI_Request& request : requests_) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
  requests_.clear();
}

template class Incoming<std::vector<std::byte>>;
template class Incoming<Buffer<float>>;

}  // namespace headscope
