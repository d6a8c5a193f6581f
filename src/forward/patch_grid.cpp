#include "forward/patch_grid.h"

namespace headscope {

PatchGrid patch_grid(const NetworkInput& in, const Pixels& pixels) {
  if (in.patches.weight == nullptr) return {};
  const Shape& kernel = in.patches.weight->shape;
  return {pixels.height / kernel[2], pixels.width / kernel[3]};
}

std::size_t rows_of(const StoredTensor* table) {
  if (table == nullptr) return 0;
  return static_cast<std::size_t>(element_count(table->shape).value_or(0)) / table->shape.back();
}

std::size_t leading_tokens(const NetworkInput& in) {
  std::size_t count = 0;
  for (const StoredTensor* token : in.leading) count += rows_of(token);
  return count;
}

}  // namespace headscope
