#include "organize/shared_column_sums.h"

#include <algorithm>
#include <utility>

#include "headscope/base/parallel.h"

namespace headscope {
namespace {

// Bytes received per step: small enough for a cache, large enough that processing takes far longer than starting the
// exchange.
constexpr std::size_t kStepBytes = std::size_t{1} << 20;

}  // namespace

SharedColumnSums::SharedColumnSums(const SharedPanels& panels, const FolderWalk& walk,
                                   std::span<const FolderBlock> blocks, std::size_t most, std::size_t batch)
    : all_(panels), walk_(walk), blocks_(blocks) {
  const std::size_t max_per_rank = (blocks.size() + ranks().size() - 1) / ranks().size();
  groups_ = (max_per_rank + most - 1) / most;
  const IndexRange largest = blocks_of(groups_ - 1, ranks().size() - 1);
  const std::size_t row_bytes = kinds() * all_.form.panels() * folders_in(largest) * kPanel * sizeof(float);
  visits_ = std::max<std::size_t>(1, kStepBytes / std::max<std::size_t>(1, row_bytes) / batch) * batch;

  if (all_.of_heads()) panel_parts_.resize(all_.form.panels());
  for (std::size_t rank = 0; rank < ranks().size(); ++rank) {
    const IndexRange heads = all_.share.heads_of(rank);
    if (!all_.of_heads()) owner_.insert(owner_.end(), heads.size(), rank);
    for (std::size_t head = heads.begin; all_.of_heads() && head < heads.end;) {
      const std::size_t panel = head / kPanel;
      const std::size_t end = std::min(heads.end, (panel + 1) * kPanel);
      panel_parts_[panel].push_back({rank, {head - panel * kPanel, end - panel * kPanel}});
      head = end;
    }
  }
  in_flight_ = step_at(0, 0);
  begin(in_flight_);
}

// Assigned to ranks first, so that all have equally many, then to groups.
IndexRange SharedColumnSums::blocks_of(std::size_t group, std::size_t rank) const noexcept {
  const IndexRange own = partition_range(blocks_.size(), rank, ranks().size());
  const IndexRange some = partition_range(own.size(), group, groups_);
  return {own.begin + some.begin, own.begin + some.end};
}

std::size_t SharedColumnSums::folders_in(const IndexRange& blocks) const noexcept {
  if (blocks.size() == 0) return 0;
  return blocks_[blocks.end - 1].begin + blocks_[blocks.end - 1].count - blocks_[blocks.begin].begin;
}

// If heads are the slices: the panels that a rank owns a part of.
IndexRange SharedColumnSums::panels_of(std::size_t rank) const noexcept {
  const IndexRange heads = all_.share.heads_of(rank);
  if (!all_.of_heads()) return {0, all_.form.panels()};
  if (heads.size() == 0) return {0, 0};
  return {heads.begin / kPanel, (heads.end - 1) / kPanel + 1};
}

SharedColumnSums::Step SharedColumnSums::step_at(std::size_t group, std::size_t begin) const {
  Step step{group, {begin, std::min(begin + visits_, walk_.visits.size())}, {}, {}};
  step.rows.resize(ranks().size());
  step.slots.resize(step.visits.size());
  for (std::size_t i = step.visits.begin; i < step.visits.end; ++i) {
    if (!walk_.visits[i].leaf) continue;
    const std::size_t row = walk_.visits[i].element;
    step.slots[i - step.visits.begin] = step.rows[all_.of_heads() ? 0 : owner_[row]].size();
    for (std::size_t rank = 0; rank < ranks().size(); ++rank) {
      if (all_.of_heads() || owner_[row] == rank) step.rows[rank].push_back(row);
    }
  }
  return step;
}

SharedColumnSums::Step SharedColumnSums::step_after(const Step& step) const {
  if (step.visits.end < walk_.visits.size()) return step_at(step.group, step.visits.end);
  return step_at(step.group + 1, 0);
}

// Fills and starts the exchange: for each other rank [kind][own panel][own row][folder of that rank][kPanel].
void SharedColumnSums::begin(const Step& step) {
  if (step.group >= groups_) return;
  const std::vector<std::size_t>& rows = step.rows[ranks().rank()];
  const IndexRange panels = panels_of(ranks().rank());
  std::vector<std::size_t> counts(ranks().size(), 0);
  for (std::size_t rank = 0; rank < ranks().size(); ++rank) {
    if (rank == ranks().rank()) continue;
    counts[rank] = kinds() * panels.size() * rows.size() * folders_in(blocks_of(step.group, rank)) * kPanel;
  }
  const std::vector<std::span<float>> room = ranks().exchange_buffers(counts);
  parallel_for(kinds() * panels.size() * rows.size(), [&](std::size_t i) {
    const auto what = static_cast<Summed>(i / (panels.size() * rows.size()));
    const std::size_t panel = panels.begin + i / rows.size() % panels.size();
    for (std::size_t rank = 0; rank < ranks().size(); ++rank) {
      if (rank == ranks().rank()) continue;
      const IndexRange blocks = blocks_of(step.group, rank);
      float* to = room[rank].data() + i * folders_in(blocks) * kPanel;
      for (std::size_t b = blocks.begin; b < blocks.end; ++b) {
        make(what, panel, rows[i % rows.size()], blocks_[b], to);
        to += blocks_[b].count * kPanel;
      }
    }
  });
  ranks().begin_exchange();
}

IndexRange SharedColumnSums::next() {
  return blocks_of(group_++, ranks().rank());
}

void SharedColumnSums::reach(const IndexRange& visits) {
  if (in_flight_.group >= groups_ || in_flight_.group + 1 != group_ || visits.begin < in_flight_.visits.begin) return;
  const std::size_t folders = folders_in(blocks_of(in_flight_.group, ranks().rank()));
  std::vector<std::size_t> expected;
  for (std::size_t rank = 0; rank < ranks().size(); ++rank) {
    expected.push_back(kinds() * panels_of(rank).size() * in_flight_.rows[rank].size() * folders * kPanel);
  }
  received_ = ranks().finish_exchange(expected);
  now_ = std::exchange(in_flight_, step_after(in_flight_));
  begin(in_flight_);
}

// Computes the sums of a row that this rank owns.
void SharedColumnSums::make(Summed what, std::size_t panel, std::size_t row, const FolderBlock& block,
                            float* to) const {
  const Buffer<float>& entries = what == Summed::kValues ? all_.panels.values : all_.panels.present;
  const std::size_t own_panel = panel - panels_of(ranks().rank()).begin;
  const std::size_t own_row = all_.of_heads() ? row : row - all_.share.own_heads().begin;
  add_folders(all_.panels.row(entries, own_panel, own_row), block.steps.data(), block.steps.size(), to);
}

// The part of a row and panel that one rank owns.
const float* SharedColumnSums::get_from(std::size_t rank, Summed what, std::size_t panel, std::size_t visit,
                                        std::size_t block, float* room) const {
  if (rank == ranks().rank()) {
    make(what, panel, walk_.visits[visit].element, blocks_[block], room);
    return room;
  }
  const IndexRange panels = panels_of(rank);
  const IndexRange own = blocks_of(now_.group, ranks().rank());
  const std::size_t place = static_cast<std::size_t>(what) * panels.size() + panel - panels.begin;
  const std::size_t row = place * now_.rows[rank].size() + now_.slots[visit - now_.visits.begin];
  const std::size_t folder = blocks_[block].begin - blocks_[own.begin].begin;
  return received_[rank].data() + (row * folders_in(own) + folder) * kPanel;
}

const float* SharedColumnSums::get(Summed what, std::size_t panel, std::size_t visit, std::size_t block,
                                   float* room) const {
  if (!all_.of_heads()) return get_from(owner_[walk_.visits[visit].element], what, panel, visit, block, room);
  const std::vector<PanelPart>& parts = panel_parts_[panel];
  if (parts.size() == 1) return get_from(parts[0].rank, what, panel, visit, block, room);
  // A panel shared by several ranks. This rank comes first, because its sums are computed in `room`. The places after
  // the last slice, which must be finite, come with the first part.
  const auto own = std::ranges::find(parts, ranks().rank(), &PanelPart::rank);
  const std::size_t first = own == parts.end() ? 0 : static_cast<std::size_t>(own - parts.begin());
  const std::size_t numbers = blocks_[block].count * kPanel;
  const float* whole = get_from(parts[first].rank, what, panel, visit, block, room);
  if (whole != room) std::copy_n(whole, numbers, room);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (p == first) continue;
    const IndexRange places = parts[p].places;
    const float* from = get_from(parts[p].rank, what, panel, visit, block, nullptr);
    for (std::size_t at = places.begin; at < numbers; at += kPanel) {
      std::copy_n(from + at, places.size(), room + at);
    }
  }
  return room;
}

}  // namespace headscope
