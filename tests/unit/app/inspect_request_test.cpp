#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headscope/app/inspect.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/tiny_gpt2.h"

namespace headscope {
namespace {

using test::TemporaryFolder;
using test::TinyGpt2;

TEST(InspectRequest, FindsTheModelAndWritesNothing) {
  const TemporaryFolder folder;
  TinyGpt2().write(folder);
  InspectRequest request;
  request.model.path = folder.path();
  const InspectOutcome outcome = run(request).value();
  EXPECT_EQ(outcome.model.family, "gpt2");
  EXPECT_EQ(outcome.location.path, folder.path());
  EXPECT_EQ(outcome.file_count, 1U);
  EXPECT_FALSE(outcome.is_gguf);
  EXPECT_TRUE(outcome.files.names.empty());
  EXPECT_EQ(outcome.files.memory, nullptr);
  EXPECT_THAT(summary(outcome), testing::HasSubstr("\nheads        2 per layer, 4 in total\n"));
  const auto json = nlohmann::json::parse(to_json(outcome));
  EXPECT_EQ(json["files"], 1);
  EXPECT_TRUE(json["repository"].is_null());
}

TEST(InspectRequest, EveryCommandItReportsExists) {
  const TemporaryFolder folder;
  TinyGpt2().write(folder);
  InspectRequest request;
  request.model.path = folder.path();
  const InspectOutcome outcome = run(request).value();
  EXPECT_FALSE(outcome.commands.empty());
  for (const auto& [readiness, exists] : outcome.commands) EXPECT_TRUE(exists) << readiness.command;
}

TEST(InspectRequest, ChecksEveryLayerOnRequest) {
  TinyGpt2 tiny;
  const TemporaryFolder good;
  tiny.write(good);
  std::vector<double> fractions;
  Context context;
  context.on_progress = [&](std::string_view stage, double fraction) {
    EXPECT_EQ(stage, "checking weights");
    fractions.push_back(fraction);
  };
  InspectRequest request;
  request.model.path = good.path();
  static_cast<void>(run(request, context));
  EXPECT_TRUE(fractions.empty());
  request.check = true;
  static_cast<void>(run(request, context));
  EXPECT_EQ(fractions, (std::vector<double>{0.5, 1}));

  tiny.values["transformer.h.1.attn.c_proj.weight"] = std::vector<float>(16, std::numeric_limits<float>::infinity());
  const TemporaryFolder bad;
  tiny.write(bad);
  request.model.path = bad.path();
  EXPECT_ERROR(run(request), ErrorKind::kNumeric, "'transformer.h.1.attn.c_proj.weight' holds NaN or Inf");
  request.check = false;
  EXPECT_TRUE(run(request).has_value());
}

TEST(InspectRequest, HasNoOptionsForFilesAndMemory) {
  InspectRequest request;
  OptionList options = options_of(request);
  EXPECT_EQ(options.find("run"), nullptr);
  EXPECT_EQ(options.find("memory"), nullptr);
  EXPECT_ERROR(options.find("threads")->set_words({"0"}), ErrorKind::kInvalidArgument,
               "--threads: expected an integer from 1 to 1024, found '0'");
}

}  // namespace
}  // namespace headscope
