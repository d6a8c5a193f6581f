#include "headscope/io/array_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headscope/base/error.h"

namespace headscope {

ArraySource::ArraySource(Shape shape, Read read) : shape_(std::move(shape)), read_(std::move(read)) {
  const auto count = element_count(shape_);
  if (!count) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("an array of shape {} has more elements than 64 bits can count", to_string(shape_)));
  }
  size_ = static_cast<std::size_t>(*count);
}

ArraySource::ArraySource(std::span<const float> values, Shape shape)
    : ArraySource(std::move(shape), [values](std::size_t first, std::span<float> out) {
        std::copy_n(values.data() + first, out.size(), out.data());
      }) {
  if (size_ != values.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} values do not fill an array of shape {}", values.size(), to_string(shape_)));
  }
}

void ArraySource::read(std::size_t first, std::span<float> out) const {
  if (first > size_ || out.size() > size_ - first) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("elements {} to {} requested, but the array has {}", first, first + out.size(), size_));
  }
  if (!out.empty()) read_(first, out);
}

ArraySource ArraySource::reshaped(Shape shape) const {
  ArraySource result(std::move(shape), read_);
  if (result.size_ == size_) return result;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("cannot reshape an array of shape {} to {}: the numbers of elements differ",
                          to_string(shape_), to_string(result.shape_)));
}

}  // namespace headscope
