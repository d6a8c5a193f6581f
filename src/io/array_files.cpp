#include "headscope/io/array_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/io/decode.h"

namespace headscope {
namespace {

ArraySource decoded(const NpyView& array, std::string_view where) {
  const auto values = std::make_shared<const std::vector<float>>(npy_values<float>(array, where));
  return {array.shape, [values](std::size_t first, std::span<float> out) {
            std::copy_n(values->data() + first, out.size(), out.data());
          }};
}

}  // namespace

ArraySource npy_source(NpyFile file, std::string_view where) {
  if (!file.array().in_c_order()) return decoded(file.array(), where);
  read_npy<float>(file.array(), 0, {}, where);  // throws if the type does not convert
  Shape shape = file.array().shape;
  const auto kept = std::make_shared<const NpyFile>(std::move(file));
  return {std::move(shape), [kept, name = std::string(where)](std::size_t first, std::span<float> out) {
            read_npy<float>(kept->array(), first, out, name);
          }};
}

ArraySource npz_source(const NpzFile::Array& array, std::string_view where) {
  return decoded(array.view(), where);
}

ArraySource tensor_source(SafetensorsFile file, std::string_view name) {
  const auto kept = std::make_shared<const SafetensorsFile>(std::move(file));
  const auto found = std::ranges::find(kept->tensors(), name, &StoredTensor::name);
  if (found == kept->tensors().end()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: has no tensor '{}'", kept->path().string(), printable(name)));
  }
  const StoredTensor& tensor = *found;
  decode(tensor.dtype, {}, {});  // throws if the type does not convert
  const std::size_t size =
      info(tensor.dtype).block_bytes;  // bytes per element: no decodable safetensors type has larger blocks
  return {tensor.shape, [kept, &tensor, size](std::size_t first, std::span<float> out) {
            decode(tensor.dtype, tensor.bytes.subspan(first * size, out.size() * size), out);
          }};
}

}  // namespace headscope
