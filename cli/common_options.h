#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "cli/command.h"
#include "cli/session.h"

namespace headscope::cli {

// Options that mean the same in every command that has them.

/// MODEL and how to read it.
struct ModelWords {
  std::filesystem::path model;
  std::string revision = {};
  std::string family = {};
};

/// MODEL, --revision and --family
void add_model_options(Command& command, ModelWords& words);

/// --threads N
void add_threads_option(Command& command);

/// "8G", "512M", "65536": bytes.
/// \throws Error  kInvalidArgument if it is something else.
[[nodiscard]] std::size_t parse_size(const std::string& text);

/// --quiet: no progress on stderr; results and errors stay.
void add_quiet_option(Command& command, Session& session);

}  // namespace headscope::cli
