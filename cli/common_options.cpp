#include "cli/common_options.h"

#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"

namespace headscope::cli {

void add_model_options(Command& command, ModelWords& words) {
  command
      .add_option(
          "model", words.model,
          "Folder with config.json and *.safetensors, a .gguf file, or the name of a model in the local Hugging "
          "Face cache, e.g. openai-community/gpt2")
      .required();
  command.add_option("--revision", words.revision,
                     "Branch, tag or commit of a model in the Hugging Face cache (default: main)");
  command.add_option("--family", words.family,
                     "Read the model as one of this family, whatever its configuration says; its tensors must fit");
}

void add_threads_option(Command& command) {
  constexpr std::size_t kMax = 1024;
  command
      .add_option(
          "--threads", [](const std::size_t& threads) { set_thread_count(threads); },
          "Number of threads (default: all processors)")
      .between(std::size_t{1}, kMax);
}

std::size_t parse_size(const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  std::size_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  int shift = 0;
  const char* after = rest;
  if (after != end && kUnits.find(*after) != std::string_view::npos) {
    shift = 10 * (static_cast<int>(kUnits.find(*after)) + 1);
    ++after;
  }
  if (error != std::errc() || after != end || number == 0 || number > (std::size_t{1} << 62 >> shift)) {
    throw Error(ErrorKind::kInvalidArgument,
                "'" + text + "' is not a size; expected e.g. 8G, 512M or a number of bytes");
  }
  return number << shift;
}

void add_quiet_option(Command& command, Session& session) {
  command.add_flag("-q,--quiet", session.quiet, "Print no progress");
}

}  // namespace headscope::cli
