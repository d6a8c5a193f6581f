#include "headscope/forward/patch_grid.h"

namespace headscope {

PatchKernel patch_kernel(const NetworkInput& in) {
  const Shape& shape = in.patches.weight->shape;
  if (in.patch_side > 0) return {shape[1] / (in.patch_side * in.patch_side), 1, in.patch_side, in.patch_side};
  return {shape[1], shape.size() == 5 ? shape[2] : 1, shape[shape.size() - 2], shape.back()};
}

PatchGrid patch_grid(const NetworkInput& in, const Pixels& pixels) {
  if (in.patches.weight == nullptr) return {};
  const PatchKernel kernel = patch_kernel(in);
  return {pixels.height / kernel.height / in.merged, pixels.width / kernel.width / in.merged};
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
