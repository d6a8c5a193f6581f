#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "headscope/io/mapped_file.h"
#include "headscope/io/stored_tensor.h"

namespace headscope {

/// A safetensors file: tensors in the order of their bytes, read in place.
class SafetensorsFile {
 public:
  /// Parses the header: 8 bytes of length, then JSON, then the tensors' bytes. Checked before anything is allocated for
  /// it: the header fits the file and the format's limit of 100 MB; every tensor's size equals the product of its shape
  /// and element size; the tensors cover the rest of the file without overlap or gap, as the format requires.
  ///
  /// \throws Error  kIo if the file cannot be read, kFormat if it is malformed, kUnsupported for an unknown element
  ///                type.
  [[nodiscard]] static SafetensorsFile open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_.path(); }
  [[nodiscard]] std::span<const StoredTensor> tensors() const noexcept { return tensors_; }
  /// The whole file, header included.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return file_.bytes(); }

 private:
  SafetensorsFile(MappedFile file, std::vector<StoredTensor> tensors)
      : file_(std::move(file)), tensors_(std::move(tensors)) {}

  MappedFile file_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace headscope
