#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "headscope/base/shape.h"

namespace headscope {

/// An array of floats in C order, from any source, that is read in parts: a caller that needs only some of it never
/// holds the rest in memory. Copies read the same array.
class ArraySource {
 public:
  /// Reads out.size() elements, starting at `first`, into `out`. Called only with ranges inside the array, from several
  /// threads at once.
  using Read = std::function<void(std::size_t first, std::span<float> out)>;

  /// \throws Error  kInvalidArgument if the number of elements does not fit 64 bits; the same for the next constructor.
  ArraySource(Shape shape, Read read);
  /// Floats in memory, which must outlive the source.
  /// \throws Error  kInvalidArgument also if the number of floats does not match the shape.
  ArraySource(std::span<const float> values, Shape shape);

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  /// Number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Reads out.size() elements, starting at `first`, into `out`. Thread-safe.
  /// \throws Error  kInvalidArgument if the range is not inside the array, and whatever reading throws.
  void read(std::size_t first, std::span<float> out) const;

  /// Returns the same elements as an array of another shape.
  /// \throws Error  kInvalidArgument if the number of elements differs.
  [[nodiscard]] ArraySource reshaped(Shape shape) const;

 private:
  Shape shape_;
  std::size_t size_ = 0;
  Read read_;
};

}  // namespace headscope
