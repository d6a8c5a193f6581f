#include "tokenize/split_behavior.h"

#include <algorithm>
#include <cstdint>

namespace headscope {
namespace {

PieceText::Cut as_cut(const Segment& segment) {
  return {{static_cast<std::uint32_t>(segment.begin), static_cast<std::uint32_t>(segment.end)}, kNoToken};
}

void cut_contiguous(const std::vector<Segment>& segments, std::vector<PieceText::Cut>& cuts) {
  bool previous = false;
  bool any = false;
  for (const Segment& segment : segments) {
    if (any && segment.is_match == previous) {
      cuts.back().span.end = static_cast<std::uint32_t>(segment.end);
    } else {
      cuts.push_back(as_cut(segment));
    }
    any = true;
    previous = segment.is_match;
  }
}

void cut_merged_with_previous(const std::vector<Segment>& segments, std::vector<PieceText::Cut>& cuts) {
  bool previous = false;
  bool any = false;
  for (const Segment& segment : segments) {
    if (any && segment.is_match && !previous) {
      cuts.back().span.end = static_cast<std::uint32_t>(segment.end);
    } else {
      cuts.push_back(as_cut(segment));
    }
    any = true;
    previous = segment.is_match;
  }
}

void cut_merged_with_next(const std::vector<Segment>& segments, std::vector<PieceText::Cut>& cuts) {
  const auto first = static_cast<std::ptrdiff_t>(cuts.size());
  bool previous = false;
  bool any = false;
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    if (any && segment->is_match && !previous) {
      cuts.back().span.begin = static_cast<std::uint32_t>(segment->begin);
    } else {
      cuts.push_back(as_cut(*segment));
    }
    any = true;
    previous = segment->is_match;
  }
  std::reverse(cuts.begin() + first, cuts.end());
}

}  // namespace

void split_segments(const std::vector<Segment>& segments, SplitBehavior behavior, std::vector<PieceText::Cut>& cuts) {
  switch (behavior) {
    case SplitBehavior::kRemoved:
      for (const Segment& segment : segments) {
        if (!segment.is_match) cuts.push_back(as_cut(segment));
      }
      return;
    case SplitBehavior::kIsolated:
      for (const Segment& segment : segments) cuts.push_back(as_cut(segment));
      return;
    case SplitBehavior::kContiguous:
      cut_contiguous(segments, cuts);
      return;
    case SplitBehavior::kMergedWithPrevious:
      cut_merged_with_previous(segments, cuts);
      return;
    case SplitBehavior::kMergedWithNext:
      cut_merged_with_next(segments, cuts);
      return;
  }
}

}  // namespace headscope
