#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/io/checkpoint.h"

namespace headscope {

/// Finds and checks the tensors that make up one packed weight.
class PackedParts {
 public:
  /// `begin` is what the names of the parts begin with, e.g. "model.layers.0.self_attn.q_proj.".
  PackedParts(const Checkpoint& checkpoint, std::string begin) : checkpoint_(checkpoint), begin_(std::move(begin)) {}

  /// Returns the part; nullptr if the file lacks it.
  /// \throws Error  kUnsupported if it has none of the types.
  const StoredTensor* find(std::string_view name, std::initializer_list<DType> types);
  /// \throws Error  the same; kFormat if the file lacks it.
  const StoredTensor& need(std::string_view name, std::initializer_list<DType> types);

  /// Returns the extents of a matrix.
  /// \throws Error  kFormat if it is not a matrix, or is empty.
  [[nodiscard]] Shape matrix(const StoredTensor& part) const;
  /// \throws Error  kFormat if the part has another shape.
  void expect(const StoredTensor& part, const Shape& shape) const;
  [[noreturn]] void malformed(const StoredTensor& part, const std::string& what) const;
  [[noreturn]] void unsupported(const std::string& what) const;

  /// Returns the weight made of all parts that were found.
  [[nodiscard]] StoredTensor weight(std::string name, DType dtype, Shape shape,
                                    decltype(PackedWeight::read) read) const;

 private:
  const Checkpoint& checkpoint_;
  std::string begin_;
  std::vector<const StoredTensor*> parts_;
};

/// Returns the modules that have a tensor MODULE.codes, sorted.
[[nodiscard]] std::vector<std::string> packed_modules(const Checkpoint& checkpoint, std::string_view codes);

/// The types of scales.
inline constexpr std::initializer_list<DType> kScaleTypes = {DType::kF16, DType::kBF16, DType::kF32};

/// Elements of a small tensor, decoded one by one where they are needed.
class FloatPart {
 public:
  explicit FloatPart(const StoredTensor& tensor) : tensor_(&tensor) {}
  [[nodiscard]] float operator[](std::size_t i) const;

 private:
  const StoredTensor* tensor_;
};

/// Elements of type T of a tensor, which need not be aligned.
template <typename T>
class PartOf {
 public:
  PartOf() = default;
  explicit PartOf(const StoredTensor& tensor) : bytes_(tensor.bytes.data()), size_(tensor.bytes.size() / sizeof(T)) {}
  [[nodiscard]] T operator[](std::size_t i) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  const std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
};

/// The group that each input belongs to: by its index, or as a tensor of the file says.
class InputGroups {
 public:
  /// Consecutive inputs, `size` per group.
  explicit InputGroups(std::size_t size) : size_(size) {}
  /// As `index` says, which must have one element per input; `groups` is their number.
  InputGroups(const StoredTensor& index, std::size_t groups, std::string file);
  /// \throws Error  kFormat if the file names a group that does not exist.
  [[nodiscard]] std::size_t operator[](std::size_t input) const {
    return index_.size() == 0 ? input / size_ : stated(input);
  }

 private:
  [[nodiscard]] std::size_t stated(std::size_t input) const;
  std::size_t size_ = 1;
  PartOf<std::int32_t> index_;
  std::size_t groups_ = 0;
  std::string file_ = {};
  const StoredTensor* tensor_ = nullptr;
};

template <typename T>
T PartOf<T>::operator[](std::size_t i) const noexcept {
  T value;
  std::memcpy(&value, bytes_ + i * sizeof(T), sizeof(T));
  return value;
}

}  // namespace headscope
