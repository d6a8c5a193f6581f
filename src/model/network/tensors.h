#pragma once

#include <cstddef>
#include <string>

#include "headscope/io/checkpoint.h"
#include "headscope/model/family.h"
#include "headscope/model/stored_linear.h"
#include "model/find_family.h"

namespace headscope {

/// Finds the tensors of a forward pass by the names that a family's layout gives them, and checks their shapes. Names
/// are without the prefix of the file. All functions throw kFormat if a tensor has a wrong shape and kUnsupported if
/// its type is not decoded.
class NetworkTensors {
 public:
  /// Both must outlive this object.
  NetworkTensors(const Checkpoint& checkpoint, const FamilyMatch& match) : checkpoint_(checkpoint), match_(match) {}

  /// The name that a layer's tensor has in the file.
  [[nodiscard]] std::string named(const std::string& pattern, std::size_t layer) const;

  /// Finds a tensor of any shape and type; nullptr if it does not exist.
  [[nodiscard]] const StoredTensor* find(const std::string& name) const;
  /// The same; throws if its type is not decoded.
  [[nodiscard]] const StoredTensor* readable(const std::string& name) const { return readable(find(name)); }
  [[nodiscard]] const StoredTensor* readable(const StoredTensor* tensor) const;
  /// The same; throws if it does not exist.
  [[nodiscard]] const StoredTensor* required(const std::string& name) const;

  /// Finds a vector of `size`; nullptr if it does not exist.
  [[nodiscard]] const StoredTensor* vector(const std::string& name, std::size_t size) const;
  /// The same, or a matrix of one row.
  [[nodiscard]] const StoredTensor* row(const std::string& name, std::size_t size) const;
  /// Finds a table with rows of `width`, with or without leading extents of 1; nullptr if it does not exist.
  [[nodiscard]] const StoredTensor* table(const std::string& name, std::size_t width) const;
  /// Finds a matrix with one row per token by its name in the file; nullptr if it does not exist.
  [[nodiscard]] const StoredTensor* vocabulary_matrix(const std::string& file_name) const;
  /// Finds a matrix with `in` inputs and its bias; `out` 0 accepts any number of outputs. Throws if it does not exist.
  [[nodiscard]] StoredLinear linear(const std::string& module, std::size_t in, std::size_t out,
                                    Storage storage = Storage::kOutIn) const;

  /// Throw the errors of their names.
  [[noreturn]] void unsupported(const std::string& why) const;
  [[noreturn]] void lacks(const std::string& name) const { lacks_in_file(match_.prefix + name); }
  [[noreturn]] void lacks_in_file(const std::string& file_name) const;
  [[noreturn]] void wrong_shape(const StoredTensor& tensor, const std::string& expected) const;

 private:
  const Checkpoint& checkpoint_;
  const FamilyMatch& match_;
};

}  // namespace headscope
