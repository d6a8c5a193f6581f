#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/io/csv_reader.h"
#include "headscope/run/table.h"

namespace headscope {

// What a RUN folder contains: every file that a command writes, with its columns, axes and meaning. Writers, readers,
// the report and the Python package all use this description, and docs/files.md is generated from it.
//
// Names may contain placeholders in angle brackets, e.g. "affinity/<metric>_<pair>.npy".

/// Version of the schema, in the manifest as "schema". Version 1, without the entry, differs in these points: the
/// column `index` of heads.csv was called `number`, and the identities in the manifest had other keys.
inline constexpr std::size_t kRunSchema = 2;

struct ColumnSchema {
  std::string_view name;
  ColumnType type = ColumnType::kText;
  std::string_view about;
  /// A column with a placeholder is repeated once per value of the placeholder. If set, it is repeated together with
  /// the column before it: a, a_low, b, b_low instead of a, b, a_low, b_low.
  bool joint = false;
  std::string_view former_name = {};  ///< In folders of version 1.
  std::size_t since = 1;              ///< First version of the schema that has the column.
};

struct FileSchema {
  std::string_view command;  ///< The command that writes it.
  std::string_view path;     ///< Relative to the folder.
  std::string_view kind;     ///< "table", "array", "tree", ...
  std::string_view about;    ///< One sentence; goes into the manifest.
  std::string_view dtype = {};
  std::array<std::string_view, 3> axes = {};  ///< Of an array; unused ones are empty.
  std::span<const ColumnSchema> columns = {};
  /// Written once per input: at the top level for the first one, in inputs/1/, inputs/2/, ... for the others. What
  /// there is per block, too, is in the folder of the block: cross/pattern.npy, cross/inputs/1/pattern.npy.
  bool per_input = false;
};

/// Values for placeholders, by name.
using Placeholders = std::vector<std::pair<std::string_view, std::string>>;
/// Replaces every `<name>` by its value. \throws Error  kInvalidArgument if a name has no value.
[[nodiscard]] std::string fill(std::string_view pattern, const Placeholders& values);
/// Returns the values of the placeholders if the text fits the pattern. A value is not empty and contains no slash.
[[nodiscard]] std::optional<Placeholders> match(std::string_view pattern, std::string_view text);

/// The blocks of a model with an encoder and a decoder, as in model/block.h.
inline constexpr std::array<std::string_view, 3> kBlockNames = {"encoder", "decoder", "cross"};

/// Folder of an input: "" for the first one, then "inputs/1/" and so on.
[[nodiscard]] std::string input_folder(std::size_t input);
/// Folder of the maps of a block: "cross/"; "" for the only one. Each is a folder of maps by itself: the folders of its
/// inputs are in it.
[[nodiscard]] std::string block_folder(std::string_view block);

/// Returns an empty table with the columns of a file. `repeated` lists the values of a placeholder in column names.
[[nodiscard]] Table make_table(const FileSchema& file,
                               const std::vector<std::pair<std::string_view, std::vector<std::string>>>& repeated = {});

/// Returns the column of a file that has this name, now or formerly, or the pattern that it matches; null if there is
/// none.
[[nodiscard]] const ColumnSchema* find_column(const FileSchema& file, std::string_view name) noexcept;

/// Returns the present names and the types of the columns of a table that was read from a file. Columns that the schema
/// does not list are text.
[[nodiscard]] std::vector<ColumnSpec> column_types(const FileSchema& file, std::span<const std::string> names);

/// Converts a table that was read from a file to these types. `where` is the prefix of every error message.
/// \throws Error  kFormat if a cell does not fit its column.
[[nodiscard]] Table typed_table(const CsvRows& rows, const FileSchema& file, const std::string& where);

/// All files, command by command.
[[nodiscard]] std::span<const FileSchema* const> run_schema() noexcept;
/// Returns the file that a path in a folder is, or null if no command writes such a file.
[[nodiscard]] const FileSchema* find_schema(std::string_view path) noexcept;

/// The files, for use in code: `run_files::kEdges` in run/schema/relate.h, and so on by command.
namespace run_files {

inline constexpr std::string_view kManifest = "manifest.json";
/// In the circumstances of organize and softmax: the folder of the input whose trees and tables they wrote, e.g.
/// "inputs/2/"; empty or absent for the first one.
inline constexpr std::string_view kMainInput = "input_folder";

}  // namespace run_files

}  // namespace headscope
