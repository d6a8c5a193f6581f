#include "capture/tokenizer/split_behavior.h"

#include <algorithm>
#include <cstdint>

namespace headscope {
namespace {

PieceText::Cut as_cut(const Stretch& stretch) {
  return {{static_cast<std::uint32_t>(stretch.begin), static_cast<std::uint32_t>(stretch.end)}, kNoToken};
}

void cut_contiguous(const std::vector<Stretch>& stretches, std::vector<PieceText::Cut>& cuts) {
  bool previous = false;
  bool any = false;
  for (const Stretch& stretch : stretches) {
    if (any && stretch.is_match == previous) {
      cuts.back().span.end = static_cast<std::uint32_t>(stretch.end);
    } else {
      cuts.push_back(as_cut(stretch));
    }
    any = true;
    previous = stretch.is_match;
  }
}

void cut_merged_with_previous(const std::vector<Stretch>& stretches, std::vector<PieceText::Cut>& cuts) {
  bool previous = false;
  bool any = false;
  for (const Stretch& stretch : stretches) {
    if (any && stretch.is_match && !previous) {
      cuts.back().span.end = static_cast<std::uint32_t>(stretch.end);
    } else {
      cuts.push_back(as_cut(stretch));
    }
    any = true;
    previous = stretch.is_match;
  }
}

void cut_merged_with_next(const std::vector<Stretch>& stretches, std::vector<PieceText::Cut>& cuts) {
  const auto first = static_cast<std::ptrdiff_t>(cuts.size());
  bool previous = false;
  bool any = false;
  for (auto stretch = stretches.rbegin(); stretch != stretches.rend(); ++stretch) {
    if (any && stretch->is_match && !previous) {
      cuts.back().span.begin = static_cast<std::uint32_t>(stretch->begin);
    } else {
      cuts.push_back(as_cut(*stretch));
    }
    any = true;
    previous = stretch->is_match;
  }
  std::reverse(cuts.begin() + first, cuts.end());
}

}  // namespace

void cut_stretches(const std::vector<Stretch>& stretches, SplitBehavior behavior, std::vector<PieceText::Cut>& cuts) {
  switch (behavior) {
    case SplitBehavior::kRemoved:
      for (const Stretch& stretch : stretches) {
        if (!stretch.is_match) cuts.push_back(as_cut(stretch));
      }
      return;
    case SplitBehavior::kIsolated:
      for (const Stretch& stretch : stretches) cuts.push_back(as_cut(stretch));
      return;
    case SplitBehavior::kContiguous:
      cut_contiguous(stretches, cuts);
      return;
    case SplitBehavior::kMergedWithPrevious:
      cut_merged_with_previous(stretches, cuts);
      return;
    case SplitBehavior::kMergedWithNext:
      cut_merged_with_next(stretches, cuts);
      return;
  }
}

}  // namespace headscope
