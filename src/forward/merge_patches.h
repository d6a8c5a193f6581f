#pragma once

#include "headscope/base/matrix.h"
#include "headscope/forward/patch_grid.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// Returns the stream of the next stage: one row per square of 2 x 2 tokens, made of their four rows, column by column.
/// The grid has an even number of rows and columns.
[[nodiscard]] Matrix merge_patches(const Model& model, const PatchMerging& merging, MatrixView stream,
                                   const PatchGrid& grid);

}  // namespace headscope
