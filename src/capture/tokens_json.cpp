#include "headscope/capture/tokens_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace headscope {
namespace {

using Json = nlohmann::ordered_json;

Json token(const InputToken& one) {
  Json entry = {{"text", one.text}};
  if (one.id) entry["id"] = *one.id;
  if (one.end > one.begin) {
    entry["begin"] = one.begin;
    entry["end"] = one.end;
  }
  if (one.patch) {
    entry["row"] = one.patch->row;
    entry["column"] = one.patch->column;
    const PixelBox& box = one.patch->box;
    entry["box"] = {box.top, box.left, box.bottom, box.right};
  }
  return entry;
}

// Rows and columns of patches.
std::pair<std::size_t, std::size_t> grid_of(const DescribedInput& input) {
  std::size_t rows = 0;
  std::size_t columns = 0;
  for (const InputToken& one : input.tokens) {
    if (!one.patch) continue;
    rows = std::max(rows, one.patch->row + 1);
    columns = std::max(columns, one.patch->column + 1);
  }
  return {rows, columns};
}

// By layer: side and shift of the windows of patches, or 0.
Json patch_windows(const DescribedInput& input, const MapsDescription& maps) {
  const auto [rows, columns] = grid_of(input);
  Json list = Json::array();
  for (const PatchWindows& one : maps.patch_windows) {
    const PatchWindows own = one.in(rows, columns);
    list.push_back(own.empty() ? Json(0) : Json{own.side, own.shift});
  }
  return list;
}

Json image(const DescribedInput& input) {
  const auto [rows, columns] = grid_of(input);
  return {{"height", input.picture.height}, {"width", input.picture.width}, {"grid", {rows, columns}}};
}

}  // namespace

std::string tokens_json(const DescribedInput& input, const MapsDescription& maps) {
  const bool is_image = !input.input.pixels.values.empty();
  Json root = {{"kind", is_image ? "image" : "text"}, {"mask", maps.causal ? "causal" : "none"}};
  const auto has_any = [](const std::vector<std::size_t>& sizes) {
    return std::ranges::any_of(sizes, [](std::size_t size) { return size > 0; });
  };
  if (has_any(maps.windows)) root["windows"] = maps.windows;
  if (has_any(maps.chunks)) root["chunks"] = maps.chunks;
  if (!std::ranges::all_of(maps.patch_windows, &PatchWindows::empty)) {
    root["patch_windows"] = patch_windows(input, maps);
  }
  if (maps.block != Block::kOnly) root["block"] = to_string(maps.block);
  if (!input.name.empty()) root["name"] = input.name;
  if (!input.file.empty()) root["file"] = input.file;
  root["source"] = maps.block == Block::kDecoder ? input.target_source : input.source;
  if (maps.block == Block::kCross) root["target"] = input.target_source;
  root["heads"] = Json::array();
  for (const HeadId& id : maps.heads) root["heads"].push_back(to_string(id));
  root["first_query"] = maps.first_query;
  root["queries"] = maps.queries;
  if (is_image) root["image"] = image(input);
  const auto list = [](const std::vector<InputToken>& tokens) {
    Json entries = Json::array();
    for (const InputToken& one : tokens) entries.push_back(token(one));
    return entries;
  };
  if (maps.block == Block::kCross) root["query_tokens"] = list(input.target_tokens);
  root["tokens"] = list(maps.block == Block::kDecoder ? input.target_tokens : input.tokens);
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace headscope
