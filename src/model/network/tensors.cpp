#include "model/network/tensors.h"

#include <fmt/format.h>

#include "headscope/base/error.h"
#include "model/block_scale.h"
#include "model/layer_names.h"
#include "model/towers.h"

namespace headscope {

std::string NetworkTensors::named(const std::string& pattern, std::size_t layer) const {
  return layer_name(pattern, match_.stored(layer));
}

// Names may lack the prefix or a part of it.
const StoredTensor* NetworkTensors::find(const std::string& name) const {
  if (name.empty()) return nullptr;
  for (const std::string_view outer : enclosing_prefixes(match_.prefix)) {
    if (const StoredTensor* tensor = checkpoint_.find(std::string(outer) + name)) return tensor;
  }
  return nullptr;
}

const StoredTensor* NetworkTensors::readable(const StoredTensor* tensor) const {
  if (tensor != nullptr && !is_decodable(*tensor)) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: tensor '{}' is stored as {}, which headscope does not decode",
                            checkpoint_.file_of(*tensor).string(), printable(tensor->name), info(tensor->dtype).name));
  }
  return tensor;
}

const StoredTensor* NetworkTensors::required(const std::string& name) const {
  const StoredTensor* tensor = readable(name);
  if (tensor == nullptr) lacks(name);
  return tensor;
}

const StoredTensor* NetworkTensors::vector(const std::string& name, std::size_t size) const {
  const StoredTensor* tensor = readable(name);
  if (tensor != nullptr && tensor->shape != Shape{size}) wrong_shape(*tensor, to_string(Shape{size}));
  return tensor;
}

const StoredTensor* NetworkTensors::row(const std::string& name, std::size_t size) const {
  const StoredTensor* tensor = readable(name);
  return tensor != nullptr && tensor->shape == Shape{1, size} ? tensor : vector(name, size);
}

const StoredTensor* NetworkTensors::table(const std::string& name, std::size_t width) const {
  const StoredTensor* tensor = readable(name);
  if (tensor == nullptr) return nullptr;
  const Shape& shape = tensor->shape;
  bool fits = !shape.empty() && shape.back() == width && element_count(shape).value_or(0) > 0;
  for (std::size_t axis = 0; axis + 2 < shape.size(); ++axis) fits = fits && shape[axis] == 1;
  if (!fits) wrong_shape(*tensor, fmt::format("rows of {}", width));
  return tensor;
}

const StoredTensor* NetworkTensors::vocabulary_matrix(const std::string& file_name) const {
  const StoredTensor* tensor = readable(checkpoint_.find(file_name));
  if (tensor != nullptr && (tensor->shape.size() != 2 || tensor->shape[0] == 0 || tensor->shape[1] == 0)) {
    wrong_shape(*tensor, "[vocabulary, width]");
  }
  return tensor;
}

StoredLinear NetworkTensors::linear(const std::string& module, std::size_t in, std::size_t out, Storage storage) const {
  StoredLinear result;
  result.storage = storage;
  result.weight = required(module + ".weight");
  const Shape& shape = result.weight->shape;
  if (shape.size() != 2 || result.in() != in || (out != 0 && result.out() != out) || result.out() == 0) {
    wrong_shape(*result.weight, fmt::format("{} inputs{}", in, out != 0 ? fmt::format(" and {} outputs", out) : ""));
  }
  const std::string scale = missing_block_scale(checkpoint_, *result.weight);
  if (!scale.empty()) lacks_in_file(scale);
  result.bias = vector(module + ".bias", result.out());
  return result;
}

void NetworkTensors::unsupported(const std::string& why) const {
  throw Error(ErrorKind::kUnsupported, fmt::format("{}: {}; headscope cannot run this model, but relate works",
                                                   checkpoint_.path().string(), why));
}

void NetworkTensors::lacks_in_file(const std::string& file_name) const {
  throw Error(ErrorKind::kFormat, fmt::format("{}: lacks tensor '{}', which is needed to run the model",
                                              checkpoint_.path().string(), printable(file_name)));
}

void NetworkTensors::wrong_shape(const StoredTensor& tensor, const std::string& expected) const {
  throw Error(ErrorKind::kFormat,
              fmt::format("{}: tensor '{}' is {}, expected {}", checkpoint_.file_of(tensor).string(),
                          printable(tensor.name), to_string(tensor.shape), expected));
}

}  // namespace headscope
