#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/io/csv_reader.h"
#include "headscope/io/json.h"
#include "headscope/io/npy.h"

namespace headscope::report {

/// A RUN folder as seen through its manifest: files that are not listed do not exist.
class RunContents {
 public:
  /// \throws Error  kIo if it is not a folder with a manifest.json, kFormat if that is malformed.
  explicit RunContents(std::filesystem::path folder);

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  [[nodiscard]] JsonValue manifest() const noexcept { return manifest_.root(); }
  /// File names, in manifest order.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] bool has(std::string_view name) const noexcept;
  [[nodiscard]] std::string where(std::string_view name) const { return (folder_ / name).string(); }

  /// \throws Error  kIo, kFormat; kUnsupported if the file is larger than 64 MB.
  [[nodiscard]] CsvRows table(const std::string& name) const;
  [[nodiscard]] JsonDocument json(const std::string& name) const;
  /// \throws Error  also kFormat if the array does not have `axes` axes.
  [[nodiscard]] NpyFile array(const std::string& name, std::size_t axes) const;

 private:
  std::filesystem::path folder_;
  JsonDocument manifest_;
  std::vector<std::string> names_;
};

}  // namespace headscope::report
