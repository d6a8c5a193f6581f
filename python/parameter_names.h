#pragma once

#include <string>
#include <string_view>

#include "headscope/app/option.h"

namespace headscope::python {

/// Replaces the flags of the command line in a text by what they are in Python: "--max-q" by "max_q", "--no-special" by
/// "special=False", "--write none" by "write='none'", "-o" by "run". `quote` is put around each of them.
///
/// Flags of `options` come first, then those of all commands, because a flag may differ between commands; "-o" is
/// always the folder of results. Other flags stay, also those inside a command for the shell ("hf download gpt2
/// --revision main") and after a quotation mark.
[[nodiscard]] std::string with_parameter_names(std::string_view text, const OptionList* options = nullptr,
                                               std::string_view quote = "");

}  // namespace headscope::python
