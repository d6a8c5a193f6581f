#include "model/packed/packed_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "headscope/base/error.h"

namespace headscope {

const StoredTensor* PackedParts::find(std::string_view name, std::initializer_list<DType> types) {
  const StoredTensor* part = checkpoint_.find(begin_ + std::string(name));
  if (part == nullptr) return nullptr;
  if (std::ranges::find(types, part->dtype) == types.end() || part->packed != nullptr) {
    std::vector<std::string_view> names;
    for (const DType type : types) names.push_back(info(type).name);
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: tensor '{}' is stored as {}, expected {}", checkpoint_.file_of(*part).string(),
                            printable(part->name), info(part->dtype).name, fmt::join(names, " or ")));
  }
  parts_.push_back(part);
  return part;
}

const StoredTensor& PackedParts::need(std::string_view name, std::initializer_list<DType> types) {
  if (const StoredTensor* part = find(name, types)) return *part;
  throw Error(ErrorKind::kFormat, fmt::format("{}: lacks tensor '{}{}', without which the codes cannot be decoded",
                                              checkpoint_.path().string(), printable(begin_), name));
}

Shape PackedParts::matrix(const StoredTensor& part) const {
  if (part.shape.size() != 2 || part.shape[0] == 0 || part.shape[1] == 0) {
    malformed(part, fmt::format("is {}, expected a matrix", to_string(part.shape)));
  }
  return part.shape;
}

void PackedParts::expect(const StoredTensor& part, const Shape& shape) const {
  if (part.shape != shape) {
    malformed(part, fmt::format("is {}, expected {}", to_string(part.shape), to_string(shape)));
  }
}

void PackedParts::malformed(const StoredTensor& part, const std::string& what) const {
  throw Error(ErrorKind::kFormat,
              fmt::format("{}: tensor '{}' {}", checkpoint_.file_of(part).string(), printable(part.name), what));
}

void PackedParts::unsupported(const std::string& what) const {
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: '{}' {}", checkpoint_.path().string(), printable(begin_), what));
}

StoredTensor PackedParts::weight(std::string name, DType dtype, Shape shape, decltype(PackedWeight::read) read) const {
  StoredTensor made;
  made.name = std::move(name);
  made.dtype = dtype;
  made.shape = std::move(shape);
  made.packed = std::make_shared<const PackedWeight>(PackedWeight{parts_, std::move(read)});
  return made;
}

std::vector<std::string> packed_modules(const Checkpoint& checkpoint, std::string_view codes) {
  const std::string end = "." + std::string(codes);
  std::vector<std::string> modules;
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    if (!tensor->name.ends_with(end) || tensor->name.size() == end.size()) continue;
    modules.push_back(tensor->name.substr(0, tensor->name.size() - end.size()));
  }
  return modules;
}

float FloatPart::operator[](std::size_t i) const {
  float value = 0;
  decode_part(*tensor_, i, {&value, 1});
  return value;
}

InputGroups::InputGroups(const StoredTensor& index, std::size_t groups, std::string file)
    : index_(index), groups_(groups), file_(std::move(file)), tensor_(&index) {}

std::size_t InputGroups::stated(std::size_t input) const {
  const std::int32_t group = index_[input];
  if (group < 0 || std::cmp_greater_equal(group, groups_)) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: tensor '{}' names group {} at index {}, expected 0 to {}", file_,
                                                printable(tensor_->name), group, input, groups_ - 1));
  }
  return static_cast<std::size_t>(group);
}

}  // namespace headscope
