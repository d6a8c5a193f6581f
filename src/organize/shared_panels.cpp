#include "organize/shared_panels.h"

#include <algorithm>
#include <span>

#include "headscope/base/message.h"

namespace headscope {
namespace {

// A rank and its heads in the middle panel.
struct MiddleHeads {
  std::size_t rank;
  IndexRange heads;
};
std::vector<MiddleHeads> middle_heads(const TensorShare& share) {
  const IndexRange middle = middle_panel(share.heads());
  std::vector<MiddleHeads> result;
  for (std::size_t rank = 0; rank < share.ranks().size(); ++rank) {
    const IndexRange all = share.heads_of(rank);
    const IndexRange heads = {std::max(all.begin, middle.begin), std::min(all.end, middle.end)};
    if (heads.begin < heads.end) result.push_back({rank, heads});
  }
  return result;
}

void add_maps(const TensorShare& share, const IndexRange& heads, std::vector<double>& sums) {
  for (std::size_t head = heads.begin; head < heads.end; ++head) {
    const auto map = share.own().map(head - share.own_heads().begin);
    const auto mask = share.own().mask(head - share.own_heads().begin);
    for (std::size_t i = 0; i < map.size(); ++i) {
      if (mask.empty() || mask[i] != 0) sums[i] += static_cast<double>(map[i]);
    }
  }
}

// The mean map of the heads in the middle panel. The ranks that own some of them add theirs one after another, in head
// order, as a single rank would; the last one sends the result to all.
std::vector<float> mean_map(const TensorShare& share) {
  Ranks& ranks = share.ranks();
  const std::vector<MiddleHeads> parts = middle_heads(share);
  std::vector<double> sums(share.own().map_size(), 0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].rank != ranks.rank()) continue;
    if (i > 0) MessageReader(ranks.receive(parts[i - 1].rank)).take_all(std::span(sums));
    add_maps(share, parts[i].heads, sums);
    if (i + 1 < parts.size()) ranks.send(parts[i + 1].rank, std::as_bytes(std::span(sums)));
  }
  const std::size_t last = parts.back().rank;
  if (ranks.rank() != last) {
    MessageReader(ranks.receive(last)).take_all(std::span(sums));
  } else {
    for (std::size_t to = 0; to < ranks.size(); ++to) {
      if (to != last) ranks.send(to, std::as_bytes(std::span(sums)));
    }
  }
  std::vector<float> means(sums.size());
  const auto count = static_cast<double>(middle_panel(share.heads()).size());
  std::ranges::transform(sums, means.begin(), [&](double sum) { return static_cast<float>(sum / count); });
  return means;
}

// Place of this rank's first head within its panel.
std::size_t places_before(const TensorShare& share, TensorAxis axis) {
  return axis == TensorAxis::kHead ? share.own_heads().begin % kPanel : 0;
}

}  // namespace

SliceForm slice_form(const TensorShare& share, TensorAxis axis) {
  const NetworkTensor& own = share.own();
  TensorSlices whole = own.slices(axis);
  (axis == TensorAxis::kHead ? whole.slices : whole.rows) = share.heads();
  if (!own.mask_per_head) return slice_form(whole, own.absent());
  return {whole.slices, whole.rows, whole.columns, own.absent() == AbsentEntries::kLeftOut};
}

SharedPanels make_shared_panels(const TensorShare& share, TensorAxis axis) {
  SharedPanels result{share, axis, slice_form(share, axis), {}};
  std::vector<float> reference;
  if (result.of_heads() && !result.form.masked) reference = mean_map(share);
  result.panels =
      make_panels(share.own().slices(axis),
                  {.presence = result.form.masked, .reference = reference, .before = places_before(share, axis)});
  result.largest = share.ranks().all_reduce_max(std::vector<float>{result.panels.largest})[0];
  return result;
}

std::size_t shared_panel_bytes(const TensorShare& share, TensorAxis axis) {
  return panel_bytes(share.own().slices(axis),
                     {.presence = slice_form(share, axis).masked, .before = places_before(share, axis)});
}

}  // namespace headscope
