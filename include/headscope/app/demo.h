#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/app/command.h"
#include "headscope/app/request_parts.h"

namespace headscope {

/// Every command on two small models that come with headscope, or the main ones on a model of the user's choice.
struct DemoRequest {
  static constexpr CommandInfo kCommand = {
      .name = "demo", .about = "Everything, on two small models that come with headscope", .example = "demo"};

  std::filesystem::path folder = "headscope-demo";
  /// A name that `make models` prints, a folder, a GGUF file or a name in the Hugging Face cache; empty for the bundled
  /// models.
  std::string model = {};
  std::optional<std::size_t> threads = {};
  /// Receives the text as it is produced.
  std::function<void(std::string_view)> print = {};
};
void describe(DemoRequest& request, OptionList& options);

struct DemoOutcome {
  std::vector<std::filesystem::path> pages;
  RunFiles files;  ///< Always empty: there are several folders.
};

/// \throws Error  as the commands it runs; kIo if the models are not found, or `model` was not fetched.
[[nodiscard]] std::optional<DemoOutcome> run(const DemoRequest& request, const Context& context = {});

/// The last lines: where the pages are.
[[nodiscard]] std::string summary(const DemoOutcome& outcome);
[[nodiscard]] std::string to_json(const DemoOutcome& outcome);

}  // namespace headscope
