#include "app/device_choice.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include "app/device/cuda_device.h"
#include "app/shared_work.h"
#include "headscope/base/error.h"

namespace headscope::app {
namespace {

// The index of the CUDA device; nothing for the CPU.
std::optional<int> cuda_device(const Resources& resources, const Ranks& ranks) {
  const std::string_view device = resources.device;
  if (device == "cpu") return std::nullopt;
  if (device == "cuda") return static_cast<int>(ranks.local_rank());
  constexpr std::string_view kNumbered = "cuda:";
  int index = 0;
  const bool numbered = device.starts_with(kNumbered);
  const char* begin = device.data() + (numbered ? kNumbered.size() : device.size());
  const auto [end, error] = std::from_chars(begin, device.data() + device.size(), index);
  if (!numbered || error != std::errc() || end != device.data() + device.size() || index < 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--device: unknown device '{}'; expected one of cpu, cuda, cuda:0, cuda:1, ...",
                            printable(resources.device, 60)));
  }
  return index;
}

}  // namespace

std::shared_ptr<const AffinityEngine> choose_affinity_engine(const Resources& resources, const Context& context) {
  Ranks& ranks = context.ranks;
  const std::string identity = ranks.run_and_agree([&]() -> std::string {
    const std::optional<int> cuda = cuda_device(resources, ranks);
    if (!cuda && !resources.precision.empty() && resources.precision != "float32") {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--precision: {} needs a device; the CPU computes in float32", resources.precision));
    }
    return cuda ? cuda_device_identity(*cuda) : "";
  });
  if (identity.empty()) return cpu_affinity_engine();
  const std::size_t sharers = count_same(ranks, identity);
  const DeviceLog log = [log = context.log](const std::string& line) {
    if (log) log(line);
  };
  return ranks.run_and_agree([&] {
    return make_cuda_affinity_engine(*cuda_device(resources, ranks),
                                     resources.precision.empty() ? "tf32" : resources.precision, sharers, log);
  });
}

std::shared_ptr<const TreeDistance> choose_tree_distance(const Resources& resources, const Context& context) {
  Ranks& ranks = context.ranks;
  return ranks.run_and_agree([&] {
    const std::optional<int> cuda = cuda_device(resources, ranks);
    return cuda ? make_cuda_tree_distance(*cuda) : cpu_tree_distance();
  });
}

}  // namespace headscope::app
