#include "cli/device_choice.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include "cli/device/cuda_device.h"
#include "cli/shared_work.h"
#include "headscope/base/error.h"

namespace headscope::cli {
namespace {

// The number of the CUDA device; nothing for the CPU.
std::optional<int> cuda_device(const DeviceWords& words, const Ranks& ranks) {
  const std::string_view device = words.device;
  if (device == "cpu") return std::nullopt;
  if (device == "cuda") return static_cast<int>(ranks.local_rank());
  constexpr std::string_view kNumbered = "cuda:";
  int number = 0;
  const bool numbered = device.starts_with(kNumbered);
  const char* begin = device.data() + (numbered ? kNumbered.size() : device.size());
  const auto [end, error] = std::from_chars(begin, device.data() + device.size(), number);
  if (!numbered || error != std::errc() || end != device.data() + device.size() || number < 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--device: '{}' is none of cpu, cuda, cuda:0, cuda:1, ...", words.device));
  }
  return number;
}

}  // namespace

void add_device_option(Command& command, DeviceWords& words) {
  command.add_option("--device", words.device, "cpu, cuda, or cuda:N").with_default();
}

void add_precision_option(Command& command, DeviceWords& words) {
  command
      .add_option("--precision", words.precision,
                  "Of products on a device: tf32 (default), fp16, bf16 or float32; the CPU has float32")
      .one_of({"tf32", "fp16", "bf16", "float32"});
}

std::unique_ptr<AffinityEngine> choose_affinity_engine(const DeviceWords& words, Session& session) {
  Ranks& ranks = session.ranks;
  const std::string identity = ranks.run_and_agree([&]() -> std::string {
    const std::optional<int> cuda = cuda_device(words, ranks);
    if (!cuda && !words.precision.empty() && words.precision != "float32") {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--precision {} is for a device; the CPU computes in float32", words.precision));
    }
    return cuda ? cuda_device_identity(*cuda) : "";
  });
  if (identity.empty()) return cpu_affinity_engine();
  const std::size_t sharers = count_same(ranks, identity);
  const DeviceLog log = [&session](const std::string& line) {
    if (!session.quiet) session.err << line << '\n';
  };
  return ranks.run_and_agree([&] {
    return make_cuda_affinity_engine(*cuda_device(words, ranks), words.precision.empty() ? "tf32" : words.precision,
                                     sharers, log);
  });
}

std::unique_ptr<TreeDistance> choose_tree_distance(const DeviceWords& words, Session& session) {
  return session.ranks.run_and_agree([&] {
    const std::optional<int> cuda = cuda_device(words, session.ranks);
    return cuda ? make_cuda_tree_distance(*cuda) : cpu_tree_distance();
  });
}

}  // namespace headscope::cli
