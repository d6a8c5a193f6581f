#include "forward/merge_patches.h"

#include <algorithm>

#include "forward/weights.h"

namespace headscope {

Matrix merge_patches(const Model& model, const PatchMerging& merging, MatrixView stream, const PatchGrid& grid) {
  const std::size_t d = stream.columns();
  const std::size_t columns = grid.width / 2;
  Matrix squares(grid.size() / 4, 4 * d);
  for (std::size_t i = 0; i < squares.rows(); ++i) {
    auto out = squares.row(i).begin();
    for (const std::size_t right : {0U, 1U}) {
      for (const std::size_t below : {0U, 1U}) {
        const std::size_t token = (2 * (i / columns) + below) * grid.width + 2 * (i % columns) + right;
        out = std::copy_n(stream.data() + token * stream.row_stride(), d, out);
      }
    }
  }
  const Norm norm(model.checkpoint(), merging.norm);
  if (!merging.norm_last) norm.apply(squares.view(), squares.span());
  Buffer<float> scratch;
  Matrix next(squares.rows(), merging.reduce.out());
  apply_linear(model.checkpoint(), merging.reduce, squares.view(), next.span(), scratch);
  if (merging.norm_last) norm.apply(next.view(), next.span());
  return next;
}

}  // namespace headscope
