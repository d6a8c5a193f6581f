#include "app/shared_work.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <optional>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/message.h"
#include "headscope/base/system.h"

namespace headscope::app {
namespace {

// Of all threads so far: unlike the time on the clock, hardly changed by what else runs on the machine.
double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

std::string broadcast_text(Ranks& ranks, const std::string& text) {
  MessageWriter own;
  own.put_text(text);
  std::vector<std::byte> bytes = std::move(own).release();
  ranks.broadcast(bytes);
  return std::string(MessageReader(bytes).take_text());
}

void check_same_everywhere(Ranks& ranks, const std::string& what, const std::string& fingerprint) {
  if (ranks.size() == 1) return;
  const std::string first = broadcast_text(ranks, fingerprint);
  std::optional<Error> failure;
  if (first != fingerprint) {
    failure.emplace(
        ErrorKind::kBackend,
        fmt::format("sees another {} ({}) than rank 0 ({}); all ranks need the same files", what, fingerprint, first));
  }
  ranks.agree(failure);
}

std::map<std::string, std::string> describe_ranks(Ranks& ranks) {
  std::string processor = fmt::format("{:.2f}", processor_seconds());
  if (ranks.size() == 1) return {{"processor_seconds", processor}};
  MessageWriter own;
  own.put(processor_seconds());
  own.put(peak_memory());
  own.put(ranks.seconds_waited());
  own.put(ranks.read_in_place());
  std::string peaks = std::to_string(peak_memory());
  std::string waits = fmt::format("{:.3f}", ranks.seconds_waited());
  std::string in_place = std::to_string(ranks.read_in_place());
  ranks.gather(own.bytes(), [&](std::size_t, std::span<const std::byte> bytes) {
    MessageReader message(bytes);
    processor += fmt::format(" {:.2f}", message.take<double>());
    peaks += fmt::format(" {}", message.take<std::size_t>());
    waits += fmt::format(" {:.3f}", message.take<double>());
    in_place += fmt::format(" {}", message.take<std::size_t>());
  });
  return {{"ranks", std::to_string(ranks.size())},
          {"processor_seconds", processor},
          {"peak_memory_of_ranks", peaks},
          {"seconds_waited", waits},
          {"ranks_read_in_place", in_place}};
}

std::size_t count_same(Ranks& ranks, const std::string& text) {
  if (ranks.size() == 1) return 1;
  MessageWriter own;
  own.put_text(text);
  std::vector<std::string> texts = {text};
  ranks.gather(own.bytes(), [&](std::size_t, std::span<const std::byte> bytes) {
    texts.push_back(MessageReader(bytes).take_text());
  });
  MessageWriter all;
  for (const std::string& each : texts) all.put_text(each);
  std::vector<std::byte> bytes = std::move(all).release();
  ranks.broadcast(bytes);
  MessageReader message(bytes);
  std::size_t count = 0;
  while (message.remaining() > 0) count += message.take_text() == text ? 1 : 0;
  return count;
}

std::size_t sum_on_root(Ranks& ranks, std::size_t number) {
  MessageWriter own;
  own.put(number);
  ranks.gather(own.bytes(), [&](std::size_t, std::span<const std::byte> bytes) {
    number += MessageReader(bytes).take<std::size_t>();
  });
  return number;
}

}  // namespace headscope::app
