#include "organize/array_entries.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "headscope/base/buffer.h"
#include "headscope/base/parallel.h"

namespace headscope {
namespace {

template <typename T>
T entry(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return value != 0 ? 1 : 0;
  }
}

// Reads contiguous entries.
void read_run(const ArraySource& array, std::size_t first, std::span<float> out) {
  array.read(first, out);
}

void read_run(const ArraySource& array, std::size_t first, std::span<std::uint8_t> out) {
  std::array<float, 2048> values;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled before it is used
  for (std::size_t begin = 0; begin < out.size(); begin += values.size()) {
    const std::size_t count = std::min(values.size(), out.size() - begin);
    array.read(first + begin, std::span(values).first(count));
    for (std::size_t i = 0; i < count; ++i) out[begin + i] = entry<std::uint8_t>(values[i]);
  }
}

// Heads first: the selected keys of a query are contiguous; if all keys are selected, so are the selected queries.
template <typename T>
void read_maps(const ArraySource& array, const ArrayAxes& axes, const Selection& chosen, std::span<T> out) {
  const std::size_t keys = chosen.keys.size();
  const std::size_t together = keys == axes.keys ? chosen.queries.size() : 1;
  parallel_for(chosen.heads.size(), [&](std::size_t h) {
    for (std::size_t q = 0; q < chosen.queries.size(); q += together) {
      const std::size_t first = chosen.heads[h] * axes.head_stride + chosen.queries[q] * axes.query_stride;
      const std::span<T> run = out.subspan((h * chosen.queries.size() + q) * keys, together * keys);
      read_run(array, first + chosen.keys.front(), run);
    }
  });
}

// Heads last: the entries of all heads for one query are contiguous.
template <typename T>
void read_queries(const ArraySource& array, const ArrayAxes& axes, const Selection& chosen, std::span<T> out) {
  const std::size_t keys = chosen.keys.size();
  if (chosen.heads.empty()) return;
  parallel_for(chosen.queries.size(), [&](std::size_t q) {
    Buffer<float> row(keys * axes.key_stride);
    const std::size_t first = chosen.queries[q] * axes.query_stride + chosen.keys.front() * axes.key_stride;
    array.read(first, row.values());
    for (std::size_t h = 0; h < chosen.heads.size(); ++h) {
      const float* from = row.data() + chosen.heads[h] * axes.head_stride;
      T* to = out.data() + (h * chosen.queries.size() + q) * keys;
      for (std::size_t k = 0; k < keys; ++k) to[k] = entry<T>(from[k * axes.key_stride]);
    }
  });
}

}  // namespace

template <typename T>
void read_entries(const ArraySource& array, const ArrayAxes& axes, const Selection& chosen, std::span<T> out) {
  if (axes.key_stride == 1) return read_maps(array, axes, chosen, out);
  read_queries(array, axes, chosen, out);
}

template void read_entries<float>(const ArraySource&, const ArrayAxes&, const Selection&, std::span<float>);
template void read_entries<std::uint8_t>(const ArraySource&, const ArrayAxes&, const Selection&,
                                         std::span<std::uint8_t>);

}  // namespace headscope
