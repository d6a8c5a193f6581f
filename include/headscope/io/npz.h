#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/io/npy.h"
#include "headscope/io/zip.h"

namespace headscope {

/// An npz file: named npy arrays in a zip archive. Arrays saved with np.savez are
/// read in place; those of np.savez_compressed are inflated one at a time, when asked for.
class NpzFile {
 public:
  /// \throws Error  kIo, kFormat, kUnsupported as `ZipFile::open`.
  [[nodiscard]] static NpzFile open(const std::filesystem::path& path);

  /// Names without their ".npy", in the order of the archive.
  [[nodiscard]] std::vector<std::string> names() const;

  /// An array and, if it had to be inflated, the bytes it views.
  struct Array {
    NpyView view;
    std::vector<std::byte> inflated;
  };
  /// Nothing if the archive has no such array.
  /// \throws Error  kFormat if the entry is corrupt (checksums included), and as `parse_npy`.
  [[nodiscard]] std::optional<Array> find(std::string_view name) const;

 private:
  explicit NpzFile(ZipFile archive) : archive_(std::move(archive)) {}

  ZipFile archive_;
};

/// Collects arrays and writes them as one npz file, uncompressed, as np.savez does.
class NpzWriter {
 public:
  explicit NpzWriter(std::filesystem::path path) : writer_(std::move(path)) {}

  /// T is float, double or std::int64_t.
  template <typename T>
  void add(std::string_view name, std::span<const T> values, std::span<const std::size_t> shape);

  /// The file appears now, whole.
  void commit() { writer_.commit(); }

 private:
  ZipWriter writer_;
};

}  // namespace headscope
