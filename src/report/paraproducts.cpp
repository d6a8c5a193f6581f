#include <fmt/format.h>

#include <algorithm>

#include "headscope/io/npz.h"
#include "report/page_data.h"
#include "report/pooled_map.h"

namespace headscope::report {
namespace {

constexpr std::size_t kMaxSideLength = 128;  // maximum side of a panel
constexpr std::size_t kMaxHeads = 32;

// Parses "paraproduct/L0H3.npz"; empty for any other name.
std::optional<HeadId> head_of(const std::string& name) {
  constexpr std::string_view kBegin = "paraproduct/";
  constexpr std::string_view kEnd = ".npz";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return std::nullopt;
  return parse_head(std::string_view(name).substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size()));
}

Json packed_panel(PageData& page, const NpyView& array, const std::string& where) {
  const std::vector<float> values = npy_values<float>(array, where);
  const std::size_t rows = array.shape[0];
  const std::size_t columns = array.shape[1];
  const std::size_t side = (std::max(rows, columns) + kMaxSideLength - 1) / kMaxSideLength;
  const std::vector<float> pooled =
      pooled_map({values.data(), rows, columns, columns}, uniform_starts(rows, side), uniform_starts(columns, side));
  Json entry = {{"rows", rows}, {"columns", columns}, {"side", side}};
  entry["array"] = page.add_quantized(pooled, {(rows + side - 1) / side, (columns + side - 1) / side}, 16);
  return entry;
}

}  // namespace

void add_paraproducts(PageData& page) {
  Json heads = Json::array();
  std::size_t found = 0;
  for (const std::string& name : page.run.names()) {
    const auto head = head_of(name);
    if (!head || ++found > kMaxHeads) continue;
    const NpzFile file = NpzFile::open(page.run.map(name));
    Json panels = Json::array();
    for (const std::string& array_name : file.names()) {
      const auto array = file.find(array_name);
      if (!array || array->view().shape.size() != 2 || array->view().shape[0] == 0 || array->view().shape[1] == 0)
        continue;
      Json panel = packed_panel(page, array->view(), page.run.where(name));
      panel["name"] = array_name;
      panels.push_back(std::move(panel));
    }
    if (!panels.empty()) heads.push_back({{"head", to_string(*head)}, {"panels", std::move(panels)}});
  }
  if (found > kMaxHeads) {
    page.notes.push_back(fmt::format("Softmax panels are shown for {} of {} heads.", kMaxHeads, found));
  }
  if (!heads.empty()) page.root["paraproducts"] = std::move(heads);
}

}  // namespace headscope::report
