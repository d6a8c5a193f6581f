#include "organize/shared_column_sums.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "headscope/base/parallel.h"

namespace headscope {
namespace {

// What a rank receives at a time: small enough for a cache, and so much that it takes far longer to work on than to
// begin.
constexpr std::size_t kStepBytes = std::size_t{1} << 20;

// Owners of panels that are not a rank.
constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kSeveral = kNobody - 1;

}  // namespace

SharedColumnSums::SharedColumnSums(const SharedPanels& panels, const FolderWalk& walk,
                                   std::span<const FolderBlock> blocks, std::size_t most, std::size_t batch)
    : all_(panels), walk_(walk), blocks_(blocks) {
  groups_ = (blocks.size() + most * ranks().size() - 1) / (most * ranks().size());
  const Share largest = blocks_of(0, ranks().size() - 1);
  const std::size_t row_bytes = kinds() * all_.form.panels() * folders_in(largest) * kPanel * sizeof(float);
  visits_ = std::max<std::size_t>(1, kStepBytes / std::max<std::size_t>(1, row_bytes) / batch) * batch;

  const std::size_t count = all_.of_heads() ? all_.form.panels() : all_.form.rows;
  owner_.assign(count, kNobody);
  for (std::size_t rank = 0; rank < ranks().size(); ++rank) {
    const Share own = all_.of_heads() ? panels_of(rank) : all_.share.heads_of(rank);
    for (std::size_t i = own.begin; i < own.end; ++i) owner_[i] = owner_[i] == kNobody ? rank : kSeveral;
  }
  place_.resize(count);
  for (std::size_t i = 0; i < count; ++i) place_[i] = owner_[i] == kSeveral ? joined_panels_++ : 0;
  under_way_ = step_at(0, 0);
  begin(under_way_);
}

// The blocks of a group are as many as those of another or one less, and so are those of the ranks in it.
Share SharedColumnSums::blocks_of(std::size_t group, std::size_t rank) const noexcept {
  const Share all = share_of(blocks_.size(), group, groups_);
  const Share own = share_of(all.size(), rank, ranks().size());
  return {all.begin + own.begin, all.begin + own.end};
}

std::size_t SharedColumnSums::folders_in(const Share& blocks) const noexcept {
  if (blocks.size() == 0) return 0;
  return blocks_[blocks.end - 1].begin + blocks_[blocks.end - 1].count - blocks_[blocks.begin].begin;
}

// Of heads: those of all panels that a rank has a part of.
Share SharedColumnSums::panels_of(std::size_t rank) const noexcept {
  const Share heads = all_.share.heads_of(rank);
  if (!all_.of_heads()) return {0, all_.form.panels()};
  if (heads.size() == 0) return {0, 0};
  return {heads.begin / kPanel, (heads.end - 1) / kPanel + 1};
}

SharedColumnSums::Step SharedColumnSums::step_at(std::size_t group, std::size_t begin) const {
  Step step{group, {begin, std::min(begin + visits_, walk_.visits.size())}, {}, {}};
  step.of_rank.resize(ranks().size());
  for (std::size_t i = step.visits.begin; i < step.visits.end; ++i) {
    if (!walk_.visits[i].leaf) continue;
    const std::size_t row = walk_.visits[i].element;
    for (std::size_t rank = 0; rank < ranks().size(); ++rank) {
      if (all_.of_heads() || owner_[row] == rank) step.of_rank[rank].push_back(step.leaves.size());
    }
    step.leaves.push_back(row);
  }
  return step;
}

SharedColumnSums::Step SharedColumnSums::step_after(const Step& step) const {
  if (step.visits.end < walk_.visits.size()) return step_at(step.group, step.visits.end);
  return step_at(step.group + 1, 0);
}

// For each rank [kind][own panel][own leaf][folder of the rank][kPanel].
void SharedColumnSums::begin(const Step& step) {
  if (step.group >= groups_) return;
  const std::size_t leaves = step.of_rank[ranks().rank()].size();
  const std::size_t panels = all_.panels.panels;
  std::vector<Buffer<float>> sums(ranks().size());
  for (std::size_t rank = 0; rank < ranks().size(); ++rank) {
    sums[rank] = Buffer<float>(kinds() * panels * leaves * folders_in(blocks_of(step.group, rank)) * kPanel);
  }
  parallel_for(kinds() * panels * leaves, [&](std::size_t i) {
    const std::size_t row = step.leaves[step.of_rank[ranks().rank()][i % leaves]];
    const std::size_t local = all_.of_heads() ? row : row - all_.share.own_heads().begin;
    const Buffer<float>& entries = i < panels * leaves ? all_.panels.values : all_.panels.present;
    const float* from = all_.panels.row(entries, i / leaves % panels, local);
    for (std::size_t rank = 0; rank < ranks().size(); ++rank) {
      const Share blocks = blocks_of(step.group, rank);
      float* to = sums[rank].data() + i * folders_in(blocks) * kPanel;
      for (std::size_t b = blocks.begin; b < blocks.end; ++b) {
        add_folders(from, blocks_[b].steps.data(), blocks_[b].steps.size(), to);
        to += blocks_[b].count * kPanel;
      }
    }
  });
  ranks().begin_exchange(std::move(sums));
}

Share SharedColumnSums::next() {
  const Share blocks = blocks_of(group_++, ranks().rank());
  folders_ = folders_in(blocks);
  return blocks;
}

void SharedColumnSums::reach(const Share& visits) {
  if (under_way_.group >= groups_ || under_way_.group + 1 != group_ || visits.begin < under_way_.visits.begin) return;
  received_ = ranks().finish_exchange();
  now_ = std::exchange(under_way_, step_after(under_way_));
  begin(under_way_);

  slot_.assign(now_.visits.size(), 0);
  std::vector<std::size_t> seen(ranks().size(), 0);
  std::size_t leaf = 0;
  for (std::size_t i = 0; i < slot_.size(); ++i) {
    const FolderVisit& visit = walk_.visits[now_.visits.begin + i];
    if (!visit.leaf) continue;
    slot_[i] = all_.of_heads() ? leaf++ : seen[owner_[visit.element]]++;
  }
  if (all_.of_heads()) join_panels();
}

const float* SharedColumnSums::received(std::size_t rank, std::size_t what, std::size_t panel, std::size_t leaf) const {
  const Share panels = panels_of(rank);
  const std::size_t row = (what * panels.size() + panel - panels.begin) * now_.of_rank[rank].size() + leaf;
  return received_[rank].data() + row * folders_ * kPanel;
}

// Panels of heads that several ranks have a part of.
void SharedColumnSums::join_panels() {
  const std::size_t leaves = now_.leaves.size();
  const std::size_t size = joined_panels_ * kinds() * leaves * folders_ * kPanel;
  if (joined_.size() != size) joined_ = Buffer<float>(size);
  for (std::size_t panel = 0; panel < owner_.size(); ++panel) {
    if (owner_[panel] != kSeveral) continue;
    parallel_for(kinds() * leaves, [&](std::size_t i) {
      float* to = joined_.data() + (place_[panel] * kinds() * leaves + i) * folders_ * kPanel;
      for (std::size_t rank = 0; rank < ranks().size(); ++rank) {
        const Share heads = all_.share.heads_of(rank);
        const std::size_t begin = std::max(heads.begin, panel * kPanel);
        const std::size_t end = std::min(heads.end, (panel + 1) * kPanel);
        if (begin >= end) continue;
        const float* from = received(rank, i / leaves, panel, i % leaves);
        // What stands behind the last head is to be finite, and is so in what came.
        const std::size_t copied = end == all_.share.heads() ? (panel + 1) * kPanel - begin : end - begin;
        for (std::size_t f = 0; f < folders_; ++f) {
          std::copy_n(from + f * kPanel + begin % kPanel, copied, to + f * kPanel + begin % kPanel);
        }
      }
    });
  }
}

const float* SharedColumnSums::get(Summed what, std::size_t panel, std::size_t visit, std::size_t block,
                                   float* /*room*/) const {
  const auto kind = static_cast<std::size_t>(what);
  const std::size_t leaf = slot_[visit - now_.visits.begin];
  const std::size_t owner = owner_[all_.of_heads() ? panel : walk_.visits[visit].element];
  const Share own = blocks_of(now_.group, ranks().rank());
  const std::size_t offset = (blocks_[block].begin - blocks_[own.begin].begin) * kPanel;
  if (owner != kSeveral) return received(owner, kind, panel, leaf) + offset;
  const std::size_t row = (place_[panel] * kinds() + kind) * now_.leaves.size() + leaf;
  return joined_.data() + row * folders_ * kPanel + offset;
}

}  // namespace headscope
