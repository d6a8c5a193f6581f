#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "headscope/app/command.h"
#include "headscope/app/request_parts.h"
#include "headscope/capture/inputs.h"
#include "headscope/model/model.h"
#include "headscope/run/run_folder.h"

namespace headscope::app {

/// Measures time from its construction on.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Opens the folder of a command before its work, and completes it afterwards. `watch` was started when the command
/// began.
class RunOutput {
 public:
  /// Without a folder, results are kept in memory.
  /// \throws Error  as `RunFolder`.
  RunOutput(const OutputTarget& target, RunCommand command, Stopwatch watch = {});

  [[nodiscard]] RunFolder& folder() noexcept { return *folder_; }
  /// Adds the duration and the peak memory to the manifest, and makes all files appear.
  [[nodiscard]] RunFiles finish(const Context& context);

 private:
  Stopwatch watch_;
  std::shared_ptr<InMemoryRun> memory_;
  std::unique_ptr<RunFolder> folder_;
};

/// Describes a request for the manifest: its identity consists of the options that determine the result and the
/// version, its arguments are the command line that repeats it.
template <typename Request>
[[nodiscard]] RunCommand describe_command(const Request& request) {
  Request copy = request;
  const OptionList options = options_of(copy);
  RunCommand command{.name = std::string(Request::kCommand.name),
                     .arguments = options.words(),
                     .identity = options.identity(),
                     .circumstances = {}};
  command.arguments.insert(command.arguments.begin(), command.name);
  command.identity["version"] = version();
  return command;
}

/// Adds what the manifest says about threads and memory.
void describe_resources(RunCommand& command, const Resources& resources);
/// Adds what it says about the model: the fingerprint, the tower and, if it was overridden, the family determine the
/// result; the name and commit in the Hugging Face cache do not.
void describe_model(RunCommand& command, const Model& model, const std::string& fingerprint);

/// Where a command's results about the model go: the folder it was given or, if the caller named one of several towers,
/// the folder of that name in it.
[[nodiscard]] OutputTarget target_of(const OutputTarget& output, const Model& model);

/// Adds a fingerprint of the inputs to the identity under `key`, and their names.
void describe_contents(RunCommand& command, const std::string& key, std::span<const DescribedInput> inputs);

/// The context of a request: the caller's, with the request's memory budget. Sets the number of threads.
[[nodiscard]] Context make_context(const Resources& resources, const Context& context);

/// "3 files in runs/gpt2 (1.5 s)"; without the folder if they are in memory. One or two files are named instead.
/// `detail` goes before the duration: "3 files in runs/gpt2 (8.1 MB of maps, 1.5 s)".
[[nodiscard]] std::string files_line(const RunFiles& files, const std::string& detail = {});

}  // namespace headscope::app
