#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "headscope/base/shape.h"
#include "headscope/io/mapped_file.h"

namespace headscope {

/// Element type of an array, as written in npy: '<f4' is {'f', 4, little}.
struct NpyType {
  char kind = 'f';       ///< 'f' float, 'i' signed, 'u' unsigned, 'b' bool.
  std::size_t size = 4;  ///< Bytes per element.
  bool big_endian = false;

  friend bool operator==(const NpyType&, const NpyType&) = default;
};

/// The type that headscope writes for arrays of T: float, double, std::int64_t or std::uint8_t.
template <typename T>
requires std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int64_t> ||
    std::is_same_v<T, std::uint8_t>
[[nodiscard]] constexpr NpyType npy_type() noexcept {
  return {std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u', sizeof(T), false};
}

/// A view of an npy array in memory: the header is parsed, the elements are in place.
struct NpyView {
  NpyType type;
  bool fortran_order = false;  ///< First index fastest.
  Shape shape;
  std::span<const std::byte> bytes;  ///< Exactly the elements.

  /// With fewer than two axes both orders are the same.
  [[nodiscard]] bool in_c_order() const noexcept { return !fortran_order || shape.size() < 2; }
};

/// Parses the header of an npy array (format 1.0, 2.0 or 3.0) that occupies all of `bytes`. `where` is the prefix of
/// every error message.
///
/// \throws Error  kFormat if the header is malformed or the size of the elements does not match, kUnsupported for
///                pickled objects, records, strings, complex numbers.
[[nodiscard]] NpyView parse_npy(std::span<const std::byte> bytes, std::string_view where);

/// Returns all elements in C order (last index fastest) and native byte order, converted to T (float, double,
/// std::int64_t). Integers and bools convert to floating types, rounded to nearest; a floating-point array does not
/// convert to integers.
///
/// Cost: one pass; a plain memory copy if the array already has the requested type and order.
///
/// \throws Error  kUnsupported if the conversion would lose more than rounding: floating-point to integer, or a finite
///                value beyond the range of T. kInvalidArgument if the view's bytes do not match its shape.
template <typename T>
[[nodiscard]] std::vector<T> npy_values(const NpyView& array, std::string_view where);

/// Reads out.size() elements of an array in C order, starting at `first`, converted as above.
///
/// Cost: only the bytes of these elements are touched.
///
/// \throws Error  as `npy_values`, for these elements; kInvalidArgument also if the range is not inside the array, or
///                the array is in Fortran order.
template <typename T>
void read_npy(const NpyView& array, std::size_t first, std::span<T> out, std::string_view where);

/// A memory-mapped npy file.
class NpyFile {
 public:
  /// \throws Error  as `parse_npy`, and kIo if the file cannot be read.
  [[nodiscard]] static NpyFile open(const std::filesystem::path& path) { return open(MappedFile::open(path)); }
  [[nodiscard]] static NpyFile open(MappedFile file);

  [[nodiscard]] const NpyView& array() const noexcept { return array_; }

 private:
  NpyFile(MappedFile file, NpyView array) : file_(std::move(file)), array_(std::move(array)) {}

  MappedFile file_;
  NpyView array_;
};

/// Returns the header of an npy file (format 1.0, or 2.0 if the length requires it), padded so that the elements that
/// follow are 64-byte aligned.
[[nodiscard]] std::string npy_header(const NpyType& type, std::span<const std::size_t> shape,
                                     bool fortran_order = false);

/// Writes an array in C order, completely or not at all (see `AtomicFile`). T is float, double or std::int64_t.
///
/// \throws Error  kInvalidArgument if `values` and `shape` differ in size, kIo or kResource (disk full) if the file
///                cannot be written.
template <typename T>
void write_npy(const std::filesystem::path& path, std::span<const T> values, std::span<const std::size_t> shape);

}  // namespace headscope
