#pragma once

#include <gtest/gtest.h>

#include <string>

#include "headscope/base/error.h"
#include "headscope/cuda/cuda_engine.h"

namespace headscope::test {

/// What is wrong with the first device; empty if it can be used.
inline std::string device_trouble() {
  try {
    static_cast<void>(cuda_tree_distance(0));
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

/// Tests that need a device; skipped, with the reason, where there is none.
template <typename Base>
class OnDevice : public Base {
 protected:
  void SetUp() override {
    if (const std::string trouble = device_trouble(); !trouble.empty()) GTEST_SKIP() << trouble;
  }
};

}  // namespace headscope::test
