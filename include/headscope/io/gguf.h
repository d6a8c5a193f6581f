#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/io/mapped_file.h"
#include "headscope/io/stored_tensor.h"

namespace headscope {

/// Type of a metadata value, with the numbers of the GGUF format.
enum class GgufType : std::uint32_t {
  kU8 = 0,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
};

/// A view of one metadata value; the file must outlive it. Accessors return nothing if the value has another type, so a
/// caller can ask for what it needs and report what it got.
class GgufValue {
 public:
  /// `bytes` is the value as stored in the file, already checked: for a string only its text; for an array its element
  /// type, length and elements.
  GgufValue(GgufType type, std::span<const std::byte> bytes) noexcept : type_(type), bytes_(bytes) {}

  [[nodiscard]] GgufType type() const noexcept { return type_; }
  /// Any integer type, if the value is not negative.
  [[nodiscard]] std::optional<std::uint64_t> as_unsigned() const noexcept;
  /// Any integer or floating type; 64-bit integers are rounded to nearest.
  [[nodiscard]] std::optional<double> as_number() const noexcept;
  [[nodiscard]] std::optional<bool> as_bool() const noexcept;
  /// The bytes in the file, not necessarily UTF-8.
  [[nodiscard]] std::optional<std::string_view> as_string() const noexcept;
  /// Number of elements of an array.
  [[nodiscard]] std::optional<std::uint64_t> array_size() const noexcept;
  /// The elements of an array, which may be arrays themselves. Allocates sizeof(GgufValue) bytes per element regardless
  /// of its size: check `array_size` first if a long array would be of no use.
  [[nodiscard]] std::optional<std::vector<GgufValue>> as_array() const;

 private:
  GgufType type_;
  std::span<const std::byte> bytes_;
};

struct GgufEntry {
  std::string_view key;
  GgufValue value;
};

/// A GGUF file (version 2 or 3, little-endian): metadata and tensors, read in place. The views it returns are valid as
/// long as the object lives, including after a move.
class GgufFile {
 public:
  /// Parses the header. Every count, length, offset and size is checked against the actual size of the file before
  /// anything is allocated for it. Tensors that overlap or extend beyond the file are rejected, and so are duplicate
  /// keys and tensor names.
  ///
  /// Cost: one pass over the header, O(n log n) for n entries and tensors, and memory for a few times the header's
  /// size; tensor data is not touched.
  ///
  /// \throws Error  kIo if the file cannot be read, kFormat if it is malformed, kUnsupported for version 1, big-endian
  ///                files and unknown tensor types.
  [[nodiscard]] static GgufFile open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_.path(); }
  [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
  /// In file order.
  [[nodiscard]] std::span<const StoredTensor> tensors() const noexcept { return tensors_; }
  /// The whole file, header included.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return file_.bytes(); }
  /// Size of the header, which ends with the list of tensors, and the alignment of what follows.
  [[nodiscard]] std::size_t header_bytes() const noexcept { return header_bytes_; }
  [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }
  /// Sorted by key.
  [[nodiscard]] std::span<const GgufEntry> metadata() const noexcept { return metadata_; }

  /// Returns the value of `key`, if there is one.
  [[nodiscard]] std::optional<GgufValue> find(std::string_view key) const noexcept;

 private:
  explicit GgufFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  std::uint32_t version_ = 0;
  std::size_t header_bytes_ = 0;
  std::size_t alignment_ = 0;
  std::vector<GgufEntry> metadata_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace headscope
