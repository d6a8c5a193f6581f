#include "app/resumable.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <stdexcept>

#include "support/temporary_folder.h"

namespace headscope::app {
namespace {

const std::array kPiece = {std::byte{1}, std::byte{2}};

// Runs a command that finishes one piece and is then ended by an exception.
template <typename Exception>
Exception end_with(const OutputTarget& output, const Resumption& resumption, const Exception& exception) {
  Resumable resumable(output, resumption, "relate");
  FinishedWork* work = resumable.open("key");
  try {
    resumable.run([&] {
      if (work != nullptr) work->keep("piece", kPiece);
      throw exception;
    });
  } catch (Exception& caught) {
    return caught;
  }
  throw std::logic_error("not reached");
}

bool finds_the_piece(const OutputTarget& output, const Resumption& resumption = {}) {
  Resumable resumable(output, resumption, "relate");
  return resumable.open("key")->find("piece").has_value();
}

TEST(Resumable, WhateverEndsARunWhatIsFinishedIsThereForTheNext) {
  const test::TemporaryFolder folder;
  const OutputTarget output{.run = folder.path()};
  EXPECT_FALSE(finds_the_piece(output));
  EXPECT_TRUE(end_with(output, {.save_every = 0}, Cancelled{}).resumable);
  EXPECT_TRUE(finds_the_piece(output));
  EXPECT_FALSE(finds_the_piece(output, {.resume = false}));  // which forgets it
  EXPECT_FALSE(finds_the_piece(output));
  end_with(output, {.save_every = 0}, Error(ErrorKind::kNumeric, "NaN"));
  EXPECT_TRUE(finds_the_piece(output));
}

TEST(Resumable, ARunThatIsTooShortToBeSavedSaysSo) {
  const test::TemporaryFolder folder;
  const OutputTarget output{.run = folder.path()};
  EXPECT_FALSE(end_with(output, {.save_every = 1000}, Cancelled{}).resumable);
  EXPECT_FALSE(finds_the_piece(output));
}

TEST(Resumable, ResultsInMemoryKeepNothing) {
  EXPECT_FALSE(end_with({}, {.save_every = 0}, Cancelled{}).resumable);
}

TEST(Resumable, CompleteResultsLeaveNothingAndOtherCommandsAreNotTouched) {
  const test::TemporaryFolder folder;
  const OutputTarget output{.run = folder.path()};
  FinishedWork(folder.path(), "patch", "key", 0, 0).keep("piece", kPiece);
  Resumable resumable(output, {.save_every = 0}, "relate");
  resumable.open("key")->keep("piece", kPiece);
  EXPECT_EQ(resumable.run([] { return 7; }), 7);
  EXPECT_TRUE(finds_the_piece(output));
  resumable.remove();
  EXPECT_FALSE(finds_the_piece(output));
  EXPECT_TRUE(FinishedWork(folder.path(), "patch", "key").find("piece").has_value());
}

}  // namespace
}  // namespace headscope::app
