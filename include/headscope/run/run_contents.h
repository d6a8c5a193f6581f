#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/io/csv_reader.h"
#include "headscope/io/folder.h"
#include "headscope/io/json.h"
#include "headscope/io/mapped_file.h"
#include "headscope/io/npy.h"
#include "headscope/run/table.h"

namespace headscope {

/// A RUN folder as seen through its manifest: files that are not listed do not exist. Files are read beneath the folder
/// only: a link that leads out of it is an error.
class RunContents {
 public:
  /// `max_text` is the size in bytes up to which tables and JSON files are read.
  /// If the last command was interrupted while its files were put in place, finishes that first.
  /// \throws Error  kIo if it is not a folder with a manifest.json; kFormat if that is malformed; kUnsupported if a
  ///                newer version wrote it.
  explicit RunContents(const std::filesystem::path& folder,
                       std::size_t max_text = std::numeric_limits<std::size_t>::max());

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_.path(); }
  [[nodiscard]] JsonValue manifest() const noexcept { return manifest_.root(); }
  /// Version of the schema that the folder was written with.
  [[nodiscard]] std::size_t schema_version() const noexcept { return version_; }
  /// File names, in manifest order.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] bool has(std::string_view name) const noexcept;
  /// An entry of the identity of a command; nothing if there is none.
  [[nodiscard]] std::optional<std::string_view> identity(std::string_view command, std::string_view key) const noexcept;
  /// The sentences that a command concluded with (`RunCommand::verdict`).
  [[nodiscard]] std::vector<std::string> verdict(std::string_view command) const;
  [[nodiscard]] std::string where(std::string_view name) const { return (folder_.path() / name).string(); }

  /// Maps a file of the folder.
  /// \throws Error  kIo as `Folder::map`.
  [[nodiscard]] MappedFile map(const std::string& name) const { return folder_.map(name); }
  /// Reads a table with the column types of the schema. Columns with a former name have their present one.
  /// \throws Error  kIo; kFormat if a cell does not fit its column; kUnsupported if the file is larger than allowed.
  [[nodiscard]] Table table(const std::string& name) const;
  /// The same with all cells as text. A table need not be in the schema.
  [[nodiscard]] CsvRows text_table(const std::string& name) const;
  [[nodiscard]] JsonDocument json(const std::string& name) const;
  /// \throws Error  also kFormat if the array does not have `axes` axes.
  [[nodiscard]] NpyFile array(const std::string& name, std::size_t axes) const;

 private:
  [[nodiscard]] MappedFile open_text(const std::string& name) const;

  Folder folder_;
  JsonDocument manifest_;
  std::vector<std::string> names_;
  std::size_t version_ = 1;
  std::size_t max_text_;
};

/// Writes what one command left in a folder to another folder, as the command itself would have.
/// \throws Error  kInvalidArgument if the folder has no result of the command; as `RunFolder` and its `add_text`.
void save_run(const RunContents& from, const std::string& command, const std::filesystem::path& path, bool force);

}  // namespace headscope
