#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headscope/base/error.h"

/// Passes if `statement` throws an Error of this kind whose message contains `text`.
#define EXPECT_ERROR(statement, expected_kind, text)                         \
  do {                                                                       \
    try {                                                                    \
      static_cast<void>(statement);                                          \
      ADD_FAILURE() << "no error, expected: " << (text);                     \
    } catch (const ::headscope::Error& error) {                              \
      EXPECT_EQ(error.kind(), (expected_kind)) << error.what();              \
      EXPECT_THAT(error.what(), ::testing::HasSubstr(text));                 \
      EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("\n"))); \
    }                                                                        \
  } while (false)
