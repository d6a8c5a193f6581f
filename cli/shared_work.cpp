#include "cli/shared_work.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "cli/common_options.h"
#include "headscope/base/error.h"
#include "headscope/base/message.h"

namespace headscope::cli {

void check_same_everywhere(Ranks& ranks, const std::string& what, const std::string& fingerprint) {
  if (ranks.size() == 1) return;
  MessageWriter own;
  own.put_text(fingerprint);
  std::vector<std::byte> bytes = std::move(own).release();
  ranks.broadcast(bytes);
  const std::string first = MessageReader(bytes).take_text();
  std::optional<Error> failure;
  if (first != fingerprint) {
    failure.emplace(
        ErrorKind::kBackend,
        fmt::format("sees another {} ({}) than rank 0 ({}); all ranks need the same files", what, fingerprint, first));
  }
  ranks.agree(failure);
}

std::map<std::string, std::string> describe_ranks(Ranks& ranks) {
  if (ranks.size() == 1) return {};
  MessageWriter own;
  own.put(peak_memory());
  own.put(ranks.seconds_waited());
  std::string peaks = std::to_string(peak_memory());
  std::string waits = fmt::format("{:.3f}", ranks.seconds_waited());
  ranks.gather(own.bytes(), [&](std::size_t, std::span<const std::byte> bytes) {
    MessageReader message(bytes);
    peaks += fmt::format(" {}", message.take<std::size_t>());
    waits += fmt::format(" {:.3f}", message.take<double>());
  });
  return {{"ranks", std::to_string(ranks.size())}, {"peak_memory_of_ranks", peaks}, {"seconds_waited", waits}};
}

std::size_t sum_on_root(Ranks& ranks, std::size_t number) {
  MessageWriter own;
  own.put(number);
  ranks.gather(own.bytes(), [&](std::size_t, std::span<const std::byte> bytes) {
    number += MessageReader(bytes).take<std::size_t>();
  });
  return number;
}

}  // namespace headscope::cli
