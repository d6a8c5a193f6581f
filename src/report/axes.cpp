#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headscope/base/error.h"
#include "report/page_data.h"

namespace headscope::report {
namespace {

constexpr std::size_t kDimensions = 8;  // maximum embedding dimensions that a page can show

Json packed_embedding(PageData& page, const std::string& name) {
  const NpyFile file = page.run.array(name, 2);
  const Shape shape = file.array().shape;
  const std::vector<float> values = npy_values<float>(file.array(), page.run.where(name));
  if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: holds a coordinate that is not a finite number", page.run.where(name)));
  }
  const std::size_t kept = std::min(shape[1], kDimensions);
  std::vector<float> leading;
  leading.reserve(shape[0] * kept);
  for (std::size_t i = 0; i < shape[0]; ++i) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(i * shape[1]);
    leading.insert(leading.end(), row, row + static_cast<std::ptrdiff_t>(kept));
  }
  return page.add_floats(leading, {shape[0], kept});
}

Json packed_order(const PageData& page, const std::string& name) {
  const NpyFile file = page.run.array(name, 1);
  const auto order = npy_values<std::int64_t>(file.array(), page.run.where(name));
  std::vector<bool> seen(order.size());
  for (const std::int64_t element : order) {
    const auto index = static_cast<std::size_t>(element);
    if (element >= 0 && index < order.size() && !seen[index]) {
      seen[index] = true;
      continue;
    }
    throw Error(ErrorKind::kFormat, fmt::format("{}: is not a permutation: {} is a duplicate or not less than {}",
                                                page.run.where(name), element, order.size()));
  }
  return order;
}

Json packed_affinity(PageData& page, const std::string& name) {
  const NpyFile file = page.run.array(name, 2);
  const Shape shape = file.array().shape;
  if (shape[0] != shape[1]) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: is {}, expected a square", page.run.where(name), to_string(shape)));
  }
  constexpr std::size_t kSixteenBits = std::size_t{1} << 18;  // maximum number of elements stored in 16 bits; 8 above
  constexpr std::size_t kMax = std::size_t{1} << 22;
  const std::size_t size = shape[0] * shape[1];
  if (size > kMax) {
    page.notes.push_back(fmt::format("{} is left out of this page for its size.", name));
    return nullptr;
  }
  const std::vector<float> values = npy_values<float>(file.array(), page.run.where(name));
  return page.add_quantized(values, shape, size <= kSixteenBits ? 16 : 8);
}

}  // namespace

void add_axes(PageData& page) {
  Json axes = Json::object();
  for (const std::string axis : {"head", "query", "key"}) {
    Json entry = Json::object();
    if (const std::string name = "embedding/" + axis + ".npy"; page.run.has(name))
      entry["embedding"] = packed_embedding(page, name);
    if (const std::string name = "order/" + axis + ".npy"; page.run.has(name))
      entry["order"] = packed_order(page, name);
    if (const std::string name = "affinity/" + axis + ".npy"; page.run.has(name))
      entry["affinity"] = packed_affinity(page, name);
    std::size_t n = 0;
    for (const char* part : {"embedding", "order", "affinity"}) {
      if (!entry.contains(part) || entry[part].is_null()) continue;
      const std::size_t size = entry[part].is_array() ? entry[part].size() : entry[part]["shape"][0].get<std::size_t>();
      if (n != 0 && size != n) {
        throw Error(ErrorKind::kFormat, fmt::format("{}: has {} elements, but other files of axis '{}' have {}",
                                                    page.run.where(part + ("/" + axis + ".npy")), size, axis, n));
      }
      n = size;
    }
    if (entry.empty()) continue;
    entry["n"] = n;
    axes[axis] = std::move(entry);
  }
  if (!axes.empty()) page.root["axes"] = std::move(axes);
}

}  // namespace headscope::report
