#include "report/kept_heads.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "headscope/run/schema.h"
#include "headscope/run/schema/detect.h"
#include "headscope/run/schema/patch.h"
#include "headscope/run/schema/relate.h"

namespace headscope::report {
namespace {

template <typename T>
const std::vector<T>* column(const Table& table, std::string_view name) {
  const auto found = table.find(name);
  return found ? std::get_if<std::vector<T>>(&table.values(*found)) : nullptr;
}

/// Collects names of query heads in the order they are added.
class Keeper {
 public:
  explicit Keeper(const RunContents& run) : run_(run), queries_per_kv_(grouping()) {}

  [[nodiscard]] std::optional<Table> table(const FileSchema& file) const {
    const std::string name(file.path);
    if (!run_.has(name)) return std::nullopt;
    return run_.table(name);
  }

  void add(const std::string& name) {
    const auto id = parse_head(name);
    if (!id) return;
    if (!id->key_value) {
      add_query_head(*id);
      return;
    }
    for (std::size_t i = 0; i < queries_per_kv_; ++i)
      add_query_head({id->layer, id->head * queries_per_kv_ + i, false, id->block});
  }

  [[nodiscard]] std::vector<std::string> take() { return std::move(names_); }

 private:
  void add_query_head(HeadId id) {
    std::string name = to_string(id);
    if (seen_.insert(name).second) names_.push_back(std::move(name));
  }

  // Query heads per KV head; 0 if unknown.
  [[nodiscard]] std::size_t grouping() const {
    const auto heads = table(run_files::kHeads);
    if (!heads) return 0;
    const auto* kinds = column<std::string>(*heads, "kind");
    if (kinds == nullptr) return 0;
    const auto queries = std::ranges::count(*kinds, "query");
    const auto kv = std::ranges::count(*kinds, "kv");
    return kv > 0 && queries % kv == 0 ? static_cast<std::size_t>(queries / kv) : 0;
  }

  const RunContents& run_;
  std::size_t queries_per_kv_;
  std::vector<std::string> names_;
  std::set<std::string> seen_;
};

void add_hubs(Keeper& keeper) {
  const auto hubs = keeper.table(run_files::kHubs);
  if (!hubs) return;
  const auto* heads = column<std::string>(*hubs, "head");
  const auto* significant = column<std::uint8_t>(*hubs, "significant");
  if (heads == nullptr || significant == nullptr) return;  // older runs do not test hubs
  for (std::size_t i = 0; i < heads->size(); ++i) {
    if ((*significant)[i] != 0) keeper.add((*heads)[i]);
  }
}

// Indices in descending order of the values; equal ones in their own order.
std::vector<std::size_t> descending(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  return order;
}

void add_circuit(Keeper& keeper) {
  const auto cuts = keeper.table(run_files::kPatch);
  if (!cuts) return;
  const auto* sources = column<std::string>(*cuts, "source");
  const auto* targets = column<std::string>(*cuts, "target");
  const auto* effects = column<double>(*cuts, "effect");
  const auto* in_circuit = column<std::uint8_t>(*cuts, "in_circuit");
  if (sources == nullptr || targets == nullptr || effects == nullptr || in_circuit == nullptr) return;
  std::vector<double> sizes;
  for (const double effect : *effects) sizes.push_back(std::isnan(effect) ? 0 : std::abs(effect));
  for (const std::size_t i : descending(sizes)) {
    if ((*in_circuit)[i] == 0) continue;
    keeper.add((*sources)[i]);
    keeper.add((*targets)[i]);
  }
}

void add_detected(Keeper& keeper) {
  const auto scored = keeper.table(run_files::kDetectors);
  if (!scored) return;
  const auto* heads = column<std::string>(*scored, "head");
  const auto* detected = column<std::string>(*scored, "detected");
  if (heads == nullptr || detected == nullptr) return;
  std::vector<double> best(heads->size(), 0);
  for (const char* detector : {"previous", "identity", "duplicate", "induction", "next", "first"}) {
    const auto* scores = column<double>(*scored, detector);
    if (scores == nullptr) continue;
    for (std::size_t i = 0; i < best.size(); ++i) {
      if ((*detected)[i].find(detector) != std::string::npos && (*scores)[i] > best[i]) best[i] = (*scores)[i];
    }
  }
  for (const std::size_t i : descending(best)) {
    if (best[i] > 0) keeper.add((*heads)[i]);
  }
}

}  // namespace

std::vector<std::string> heads_to_keep(const RunContents& run, std::span<const HeadId> asked) {
  Keeper keeper(run);
  for (const HeadId id : asked) keeper.add(to_string(id));
  add_hubs(keeper);
  add_circuit(keeper);
  add_detected(keeper);
  return keeper.take();
}

}  // namespace headscope::report
