#include "capture/detected_attention.h"

#include <initializer_list>

namespace headscope {
namespace {

bool is_one_of(Detector detector, std::initializer_list<Detector> some) noexcept {
  for (const Detector one : some) {
    if (one == detector) return true;
  }
  return false;
}

}  // namespace

bool DetectedAttention::applies(Detector detector) const noexcept {
  using enum Detector;
  switch (block) {
    case Block::kOnly:
      if (!has_sequence) return detector == kIdentity;
      return is_one_of(detector, {kPrevious, kIdentity, kDuplicate, kInduction});
    case Block::kDecoder:
      return is_one_of(detector, {kPrevious, kIdentity, kDuplicate, kInduction});
    case Block::kEncoder:
      return is_one_of(detector, {kPrevious, kIdentity, kNext, kFirst});
    case Block::kCross:
      return detector == kFirst || (copies && is_one_of(detector, {kIdentity, kNext}));
  }
  return false;
}

std::optional<std::size_t> DetectedAttention::key(Detector detector, std::size_t query) const noexcept {
  if (query < skip) return std::nullopt;
  const std::size_t token = query - skip;
  const std::size_t half = length / 2;
  switch (detector) {
    case Detector::kPrevious:
      if (token < 1) return std::nullopt;
      return skipped_keys + token - 1;
    case Detector::kIdentity:
      return skipped_keys + token;
    case Detector::kDuplicate:
      if (token < half) return std::nullopt;
      return skipped_keys + token - half;
    case Detector::kInduction:
      if (token < half) return std::nullopt;
      return skipped_keys + token - half + 1;
    case Detector::kNext:
      if (token + 1 >= length) return std::nullopt;
      return skipped_keys + token + 1;
    case Detector::kFirst:
      // The first token of self-attention looks at itself there.
      if (block != Block::kCross && query == 0) return std::nullopt;
      return 0;
  }
  return std::nullopt;
}

double DetectedAttention::chance(Detector detector) const noexcept {
  if (!causal) return 1 / static_cast<double>(keys);
  double sum = 0;
  std::size_t scored = 0;
  for (std::size_t query = 0; query < skip + length; ++query) {
    if (!key(detector, query)) continue;
    sum += 1 / static_cast<double>(query + 1);
    ++scored;
  }
  return sum / static_cast<double>(scored);
}

}  // namespace headscope
