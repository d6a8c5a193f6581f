#pragma once

#include <memory>
#include <span>
#include <string>

#include "headscope/app/command.h"

namespace headscope::cli {

enum class Shell { kBash, kZsh, kFish };

/// Returns a script that completes the commands, their options and the values of these, in the words of the options'
/// descriptions. It runs nothing but the shell's own functions: completing is as fast as the shell is.
[[nodiscard]] std::string completion_script(Shell shell, std::span<const std::unique_ptr<Command>> commands);

}  // namespace headscope::cli
