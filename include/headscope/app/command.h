#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/app/option.h"
#include "headscope/base/context.h"
#include "headscope/run/run_folder.h"

namespace headscope {

// The application: one request type per command, with all of its options, and one outcome type with everything it
// found.
//
//   RelateRequest request;                      // every field has its default
//   request.model.path = "models/gpt2";
//   request.output.run = "runs/gpt2";           // without it results stay in memory
//   const auto outcome = run(request);          // present on rank 0
//   for (const Edge& edge : outcome->result.edges) ...
//
// For each request type there are
//   void describe(Request&, OptionList&)        its options: names, help, checks
//   std::optional<Outcome> run(const Request&, const Context& = {})
//   std::string summary(const Outcome&)         what the command line prints
//   std::string to_json(const Outcome&)         the same with --json

/// Static facts about a command.
struct CommandInfo {
  std::string_view name;       ///< "relate"
  std::string_view about;      ///< One line.
  std::string_view example;    ///< A command line, without the program's name.
  bool is_collective = false;  ///< Whether ranks share its work; other commands run on rank 0 alone.
};

/// Where the results of a command are.
struct RunFiles {
  std::filesystem::path folder = {};               ///< Empty if they are in memory, or there are none.
  std::vector<std::string> names = {};             ///< Relative to the folder, in the order they were written.
  std::shared_ptr<const InMemoryRun> memory = {};  ///< Null if they are in a folder.
  double seconds = 0;                              ///< Duration of the command.
};

/// What a front end shows of an outcome.
struct CommandOutput {
  std::string summary;
  std::string json;
  RunFiles files;
};

/// A command with its request, for front ends that treat all commands alike.
class Command {
 public:
  virtual ~Command() = default;

  [[nodiscard]] virtual const CommandInfo& info() const noexcept = 0;
  [[nodiscard]] virtual OptionList& options() noexcept = 0;
  /// Runs the request. Nothing on ranks other than 0.
  /// \throws Error  as the `run` of the request.
  [[nodiscard]] virtual std::optional<CommandOutput> run(const Context& context) = 0;
};

/// Runs a request and formats what it found. A function of its own, because the member `run` of a command hides the
/// functions of that name.
template <typename Request>
[[nodiscard]] std::optional<CommandOutput> run_request(const Request& request, const Context& context) {
  const auto outcome = run(request, context);
  if (!outcome) return std::nullopt;
  return CommandOutput{summary(*outcome), to_json(*outcome), outcome->files};
}

/// The command of one request type.
template <typename Request>
class RequestCommand final : public Command {
 public:
  RequestCommand() : options_(options_of(request)) {}
  RequestCommand(const RequestCommand&) = delete;
  RequestCommand& operator=(const RequestCommand&) = delete;

  [[nodiscard]] const CommandInfo& info() const noexcept override { return Request::kCommand; }
  [[nodiscard]] OptionList& options() noexcept override { return options_; }
  [[nodiscard]] std::optional<CommandOutput> run(const Context& context) override {
    return run_request(request, context);
  }

  Request request;

 private:
  OptionList options_;
};

/// All commands, in the order in which help lists them.
[[nodiscard]] std::vector<std::unique_ptr<Command>> all_commands();

/// Version of this program, e.g. "0.1.0".
[[nodiscard]] std::string_view version() noexcept;

}  // namespace headscope
