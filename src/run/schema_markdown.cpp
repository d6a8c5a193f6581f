#include "headscope/run/schema_markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "headscope/run/schema.h"

namespace headscope {
namespace {

// A cell of a table: neither a column separator nor HTML.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '<') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string axes_text(const FileSchema& file) {
  std::vector<std::string_view> axes;
  for (const std::string_view axis : file.axes) {
    if (!axis.empty()) axes.push_back(axis);
  }
  return axes.empty() ? "" : fmt::format("[{}]", fmt::join(axes, ", "));
}

std::string file_rows(std::span<const FileSchema* const> files) {
  std::string text = "| file | kind | type | axes | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const FileSchema* file : files) {
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", file->path, file->kind, file->dtype, cell(axes_text(*file)),
                        cell(file->about));
  }
  return text;
}

std::string column_rows(const FileSchema& file) {
  std::string text = fmt::format("\n`{}`:\n\n| column | type | meaning |\n| --- | --- | --- |\n", file.path);
  for (const ColumnSchema& column : file.columns) {
    text += fmt::format("| `{}` | {} | {} |\n", column.name, to_string(column.type), cell(column.about));
  }
  return text;
}

// Says which of the files there are once per input.
std::string input_lines(std::span<const FileSchema* const> files) {
  std::vector<std::string> names;
  for (const FileSchema* file : files) {
    if (file->per_input) names.push_back(fmt::format("`{}`", file->path));
  }
  if (names.empty()) return {};
  return fmt::format(
      "\nOf the second input, {} are in `{}`, of the third in `{}`, and so on. A model with an encoder and a decoder "
      "has them once per block, in `{}`: each is a folder of maps by itself, with the inputs in it. Only the output is "
      "not in them.\n",
      fmt::join(names, ", "), input_folder(1), input_folder(2),
      fmt::join({block_folder(kBlockNames[0]), block_folder(kBlockNames[1]), block_folder(kBlockNames[2])}, "`, `"));
}

}  // namespace

std::string run_files_markdown() {
  std::string text;
  for (std::span<const FileSchema* const> rest = run_schema(); !rest.empty();) {
    std::size_t count = 1;
    while (count < rest.size() && rest[count]->command == rest.front()->command) ++count;
    const auto files = rest.first(count);
    rest = rest.subspan(count);
    text += fmt::format("{}### {}\n\n", text.empty() ? "" : "\n", files.front()->command);
    text += file_rows(files) + input_lines(files);
    for (const FileSchema* file : files) {
      if (!file->columns.empty()) text += column_rows(*file);
    }
  }
  return text;
}

}  // namespace headscope
