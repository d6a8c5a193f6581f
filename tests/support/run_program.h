#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run.h"

namespace headscope::test {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

/// Runs the program in this process.
inline Outcome run_program(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "headscope");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream out;
  std::ostringstream err;
  const int code = cli::run(static_cast<int>(argv.size()), argv.data(), {.out = out, .err = err});
  return {code, out.str(), err.str()};
}

/// Expects the program to fail with this code and a single line on stderr that contains `text`; stdout must be empty.
inline void expect_failure(const std::vector<std::string>& arguments, int code, const std::string& text) {
  const Outcome outcome = run_program(arguments);
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_THAT(outcome.err, testing::HasSubstr(text));
  EXPECT_TRUE(outcome.err.starts_with("headscope: ")) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

}  // namespace headscope::test
