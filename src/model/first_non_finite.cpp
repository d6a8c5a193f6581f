#include "model/first_non_finite.h"

#include <fmt/format.h>

#include "headscope/base/error.h"
#include "headscope/io/decode.h"

namespace headscope {

void FirstNonFinite::look(std::span<const float> values, std::size_t index_of_first) {
  if (const auto found = find_non_finite(values)) {
    const std::size_t index = index_of_first + *found;
    std::size_t smallest = smallest_.load();
    while (index < smallest && !smallest_.compare_exchange_weak(smallest, index)) {
    }
  }
}

void FirstNonFinite::report(const Checkpoint& checkpoint, const StoredTensor& tensor) const {
  const std::size_t index = smallest_.load();
  if (index == kNone) return;
  Shape position(tensor.shape.size());
  std::size_t rest = index;
  for (std::size_t axis = position.size(); axis-- > 0;) {
    position[axis] = rest % tensor.shape[axis];
    rest /= tensor.shape[axis];
  }
  throw Error(ErrorKind::kNumeric,
              fmt::format("{}: tensor '{}' holds NaN or Inf at index {}, expected finite weights",
                          checkpoint.file_of(tensor).string(), printable(tensor.name), to_string(position)));
}

}  // namespace headscope
