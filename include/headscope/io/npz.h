#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/io/npy.h"
#include "headscope/io/zip.h"
#include "headscope/io/zip_writer.h"

namespace headscope {

/// An npz file: named npy arrays in a zip archive. Arrays saved with np.savez are read in place; those of
/// np.savez_compressed are inflated one at a time, on request.
class NpzFile {
 public:
  /// \throws Error  kIo, kFormat, kUnsupported as `ZipFile::open`.
  [[nodiscard]] static NpzFile open(const std::filesystem::path& path) { return open(MappedFile::open(path)); }
  [[nodiscard]] static NpzFile open(MappedFile file);

  /// Names without the ".npy" suffix, in archive order. Entries not named "*.npy" are not arrays and are left out.
  [[nodiscard]] std::vector<std::string> names() const;

  /// An array and, if it had to be inflated, the buffer it views. A stored array is a view of the file, so the NpzFile
  /// must outlive it.
  class Array {
   public:
    Array(NpyView view, std::vector<std::byte> inflated) : view_(std::move(view)), inflated_(std::move(inflated)) {}
    Array(Array&&) noexcept = default;
    Array& operator=(Array&&) noexcept = default;
    Array(const Array&) = delete;  // the copy would view the original's bytes
    Array& operator=(const Array&) = delete;
    ~Array() = default;

    [[nodiscard]] const NpyView& view() const noexcept { return view_; }

   private:
    NpyView view_;
    std::vector<std::byte> inflated_;
  };
  /// Returns nothing if the archive has no such array.
  /// \throws Error  kFormat if the entry is corrupt (checksums included), kUnsupported beyond `ZipFile::kMaxRatio`,
  ///                and as `parse_npy`.
  [[nodiscard]] std::optional<Array> find(std::string_view name) const;

 private:
  explicit NpzFile(ZipFile archive) : archive_(std::move(archive)) {}

  ZipFile archive_;
};

/// Collects arrays and writes them as one npz file, uncompressed, as np.savez does.
class NpzWriter {
 public:
  /// \throws Error  as `AtomicFile`.
  explicit NpzWriter(std::filesystem::path path) : writer_(std::move(path)) {}
  explicit NpzWriter(AtomicFile file) : writer_(std::move(file)) {}

  /// T is float, double or std::int64_t.
  ///
  /// \throws Error  kInvalidArgument if `values` and `shape` differ in size or the
  ///                name is taken, kIo or kResource (disk full) if it cannot be written.
  template <typename T>
  void add(std::string_view name, std::span<const T> values, std::span<const std::size_t> shape);

  /// Finishes the archive; the complete file appears now.
  void commit() { writer_.commit(); }
  /// Finishes the archive and returns the file, complete but not committed.
  [[nodiscard]] AtomicFile finish() { return writer_.finish(); }

 private:
  ZipWriter writer_;
};

}  // namespace headscope
