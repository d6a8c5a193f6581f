#pragma once

#include <gtest/gtest.h>

#include <string>

#include "headscope/base/error.h"
#include "headscope/cuda/cuda_engine.h"

namespace headscope::test {

/// Returns why the first device cannot be used; empty if it can.
inline std::string device_trouble() {
  try {
    static_cast<void>(cuda_tree_distance(0));
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

/// Base of tests that need a device; they are skipped, with the reason, if there is none.
template <typename Base>
class OnDevice : public Base {
 protected:
  void SetUp() override {
    if (const std::string trouble = device_trouble(); !trouble.empty()) GTEST_SKIP() << trouble;
  }
};

}  // namespace headscope::test
