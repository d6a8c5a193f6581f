#pragma once

#include <string>

namespace headscope {

/// Returns the files of all commands, with their columns, as Markdown: the generated part of docs/files.md.
[[nodiscard]] std::string run_files_markdown();

}  // namespace headscope
