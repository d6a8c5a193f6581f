#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/session.h"
#include "headscope/capture/inputs.h"

namespace headscope::cli {

/// What a model is run on, as it was typed.
struct InputWords {
  std::vector<std::string> texts;
  std::vector<std::filesystem::path> text_files;
  std::vector<std::filesystem::path> ids;
  std::vector<std::filesystem::path> images;
  std::vector<std::filesystem::path> pixels;
  bool lines = false;
  bool no_special = false;
  std::size_t max_tokens = 0;  ///< 0: no limit.

  [[nodiscard]] bool empty() const {
    return texts.empty() && text_files.empty() && ids.empty() && images.empty() && pixels.empty();
  }
  /// For a manifest: everything that decides what the inputs are.
  [[nodiscard]] std::string described() const;
};

/// --text, --text-file, --ids, --image, --pixels (each may stand several times), --lines, --no-special, --max-tokens.
void add_input_options(Command& command, InputWords& words);

/// Tells inputs apart that came from files of the same name.
[[nodiscard]] std::string fingerprint(std::span<const DescribedInput> inputs);

/// Reads them in the order texts, text files, ids, images, pixels.
/// \throws Error  as `InputReader`; kInvalidArgument if there is nothing to read.
[[nodiscard]] std::vector<DescribedInput> read_inputs(const Model& model, const InputWords& words,
                                                      const Session& session);

}  // namespace headscope::cli
