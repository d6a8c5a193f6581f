#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "headscope/base/shape.h"

namespace headscope {

/// An array of floats in C order that is read in parts, wherever it comes from: who needs some of it never holds the
/// rest. Copies read the same array.
class ArraySource {
 public:
  /// Puts the elements from `first` on into `out`, as many as that has. Called only within the array, by several
  /// threads at once.
  using Read = std::function<void(std::size_t first, std::span<float> out)>;

  /// \throws Error  kInvalidArgument if the elements cannot be counted in 64 bits; so with the next.
  ArraySource(Shape shape, Read read);
  /// Floats in memory, which must outlive the source.
  /// \throws Error  kInvalidArgument also if they do not fill the shape.
  ArraySource(std::span<const float> values, Shape shape);

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  /// Elements.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The elements from `first` on into `out`, as many as that has. Several threads may read at once.
  /// \throws Error  kInvalidArgument if the array has not so many, and what reading throws.
  void read(std::size_t first, std::span<float> out) const;

  /// The same elements as an array of another shape.
  /// \throws Error  kInvalidArgument if that has not as many elements.
  [[nodiscard]] ArraySource reshaped(Shape shape) const;

 private:
  Shape shape_;
  std::size_t size_ = 0;
  Read read_;
};

}  // namespace headscope
