#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/common_options.h"
#include "cli/session.h"
#include "headscope/base/shape.h"
#include "headscope/forward/forward.h"
#include "headscope/io/run_folder.h"
#include "headscope/model/model.h"

namespace headscope::cli {

/// An array of the host's, in C order.
struct GivenArray {
  std::span<const float> values = {};
  Shape shape = {};
  /// For maps: the tokens.json that belongs to them; empty if there is none.
  std::string tokens = {};
};

/// A program that runs commands inside itself, such as the Python package. Where a command line names a file, it may
/// name something of the host's instead; nothing else changes: the same words mean the same, give the same numbers
/// and fail with the same text.
struct Host {
  /// Called now and then with what is being done and how much of it; may throw to stop.
  std::function<void(std::string_view what, double share)> watch = {};
  /// Used in place of opening MODEL.
  std::shared_ptr<const Model> model = {};
  /// Maps by the name that stands for SOURCE or a mask; token ids, pixels and labels (as ids) by the name that stands
  /// for their file.
  std::map<std::string, GivenArray> arrays = {};
  std::map<std::string, std::vector<ModelInput>> inputs = {};
  /// Where results go instead of a folder.
  InMemoryRun* held = nullptr;
};

/// What MODEL means in this session.
/// \throws Error  as `Model::open`.
[[nodiscard]] std::shared_ptr<const Model> open_model(const Session& session, const ModelWords& words);

/// The host's array of that name; nullptr if there is none.
[[nodiscard]] const GivenArray* given_array(const Session& session, const std::filesystem::path& name);
/// The host's inputs of that name; nullptr if there are none.
[[nodiscard]] const std::vector<ModelInput>* given_inputs(const Session& session, const std::filesystem::path& name);

}  // namespace headscope::cli
