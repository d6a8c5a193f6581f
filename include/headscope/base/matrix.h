#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

namespace headscope {

/// Non-owning, read-only view of a matrix. Element (i, j) is `data[i * row_stride + j * column_stride]`, so a transpose
/// is free.
///
/// Storage order throughout the project: owning matrices are row-major and contiguous.
template <typename T>
class BasicMatrixView {
 public:
  BasicMatrixView(const T* data, std::size_t rows, std::size_t columns, std::size_t row_stride,
                  std::size_t column_stride = 1) noexcept
      : data_(data), rows_(rows), columns_(columns), row_stride_(row_stride), column_stride_(column_stride) {}

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::size_t row_stride() const noexcept { return row_stride_; }
  [[nodiscard]] std::size_t column_stride() const noexcept { return column_stride_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }

  [[nodiscard]] T operator()(std::size_t i, std::size_t j) const noexcept {
    assert(i < rows_ && j < columns_);
    return data_[i * row_stride_ + j * column_stride_];
  }
  /// View of a block of the matrix.
  [[nodiscard]] BasicMatrixView block(std::size_t row, std::size_t rows, std::size_t column,
                                      std::size_t columns) const noexcept {
    assert(row + rows <= rows_ && column + columns <= columns_);
    return {data_ + row * row_stride_ + column * column_stride_, rows, columns, row_stride_, column_stride_};
  }
  [[nodiscard]] BasicMatrixView transposed() const noexcept {
    return {data_, columns_, rows_, column_stride_, row_stride_};
  }

 private:
  const T* data_;
  std::size_t rows_;
  std::size_t columns_;
  std::size_t row_stride_;
  std::size_t column_stride_;
};

/// Non-owning, writable view of a row-major matrix.
template <typename T>
class BasicMatrixSpan {
 public:
  BasicMatrixSpan(T* data, std::size_t rows, std::size_t columns, std::size_t row_stride) noexcept
      : data_(data), rows_(rows), columns_(columns), row_stride_(row_stride) {}

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::size_t row_stride() const noexcept { return row_stride_; }
  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::span<T> row(std::size_t i) const noexcept {
    assert(i < rows_);
    return {data_ + i * row_stride_, columns_};
  }
  [[nodiscard]] BasicMatrixView<T> view() const noexcept { return {data_, rows_, columns_, row_stride_}; }
  /// View of a block of the matrix.
  [[nodiscard]] BasicMatrixSpan block(std::size_t row, std::size_t rows, std::size_t column,
                                      std::size_t columns) const noexcept {
    assert(row + rows <= rows_ && column + columns <= columns_);
    return {data_ + row * row_stride_ + column, rows, columns, row_stride_};
  }

 private:
  T* data_;
  std::size_t rows_;
  std::size_t columns_;
  std::size_t row_stride_;
};

/// Row-major matrix that owns its elements.
template <typename T>
class BasicMatrix {
 public:
  BasicMatrix() = default;
  /// Initializes all elements to zero.
  BasicMatrix(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns), data_(rows * columns) {}

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::span<T> values() noexcept { return data_; }
  [[nodiscard]] std::span<const T> values() const noexcept { return data_; }

  [[nodiscard]] std::span<T> row(std::size_t i) noexcept {
    assert(i < rows_);
    return std::span(data_).subspan(i * columns_, columns_);
  }
  [[nodiscard]] std::span<const T> row(std::size_t i) const noexcept {
    assert(i < rows_);
    return std::span(data_).subspan(i * columns_, columns_);
  }
  [[nodiscard]] T& operator()(std::size_t i, std::size_t j) noexcept {
    assert(i < rows_ && j < columns_);
    return data_[i * columns_ + j];
  }
  [[nodiscard]] T operator()(std::size_t i, std::size_t j) const noexcept {
    assert(i < rows_ && j < columns_);
    return data_[i * columns_ + j];
  }
  [[nodiscard]] BasicMatrixView<T> view() const noexcept { return {data_.data(), rows_, columns_, columns_}; }
  [[nodiscard]] BasicMatrixSpan<T> span() noexcept { return {data_.data(), rows_, columns_, columns_}; }

 private:
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::vector<T> data_;
};

using MatrixView = BasicMatrixView<float>;
using MatrixSpan = BasicMatrixSpan<float>;
using Matrix = BasicMatrix<float>;
/// For small decompositions and statistics.
using DoubleMatrix = BasicMatrix<double>;

}  // namespace headscope
