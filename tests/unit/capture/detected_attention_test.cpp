#include "capture/detected_attention.h"

#include <gtest/gtest.h>

#include <vector>

namespace headscope {
namespace {

std::vector<Detector> detectors_of(const DetectedAttention& attention) {
  std::vector<Detector> found;
  for (const Detector detector : kDetectors) {
    if (attention.applies(detector)) found.push_back(detector);
  }
  return found;
}

TEST(DetectedAttention, HasTheDetectorsOfItsBlock) {
  using enum Detector;
  using List = std::vector<Detector>;
  EXPECT_EQ(detectors_of({}), (List{kPrevious, kIdentity, kDuplicate, kInduction}));
  EXPECT_EQ(detectors_of({.has_sequence = false}), (List{kIdentity}));
  EXPECT_EQ(detectors_of({.block = Block::kEncoder}), (List{kPrevious, kIdentity, kNext, kFirst}));
  EXPECT_EQ(detectors_of({.block = Block::kDecoder}), (List{kPrevious, kIdentity, kDuplicate, kInduction}));
  EXPECT_EQ(detectors_of({.block = Block::kCross}), (List{kIdentity, kNext, kFirst}));
  EXPECT_EQ(detectors_of({.block = Block::kCross, .copies = false}), (List{kFirst}));
}

TEST(DetectedAttention, OfTheTargetLooksAtTheCopyInTheSource) {
  // The token that decoding starts with, then a copy of four tokens that come after two others in the source.
  const DetectedAttention cross{.block = Block::kCross, .length = 4, .skip = 1, .skipped_keys = 2, .keys = 6};
  EXPECT_FALSE(cross.key(Detector::kIdentity, 0));
  EXPECT_EQ(cross.key(Detector::kIdentity, 1), 2U);
  EXPECT_EQ(cross.key(Detector::kNext, 3), 5U);
  EXPECT_FALSE(cross.key(Detector::kNext, 4));
  EXPECT_EQ(cross.key(Detector::kFirst, 1), 0U);
  EXPECT_DOUBLE_EQ(cross.chance(Detector::kFirst), 1.0 / 6);
}

TEST(DetectedAttention, OfTheFirstTokenToItselfIsNotItsAttentionToTheFirst) {
  const DetectedAttention encoder{.block = Block::kEncoder, .length = 4, .keys = 4};
  EXPECT_FALSE(encoder.key(Detector::kFirst, 0));
  EXPECT_EQ(encoder.key(Detector::kFirst, 3), 0U);
  EXPECT_FALSE(encoder.key(Detector::kPrevious, 0));
}

}  // namespace
}  // namespace headscope
