#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headscope/io/run_folder.h"
#include "headscope/model/head_id.h"
#include "headscope/model/model.h"

namespace headscope {

/// The query heads that write nothing: every number of their slice of the output projection is zero, as in a
/// checkpoint that was pruned before. Ascending. Reads O of every layer once.
/// \throws Error  as `Model::load_heads`.
[[nodiscard]] std::vector<HeadId> zero_heads(const Model& model);

/// Whether heads can be taken out of the model's files at all, and each on its own.
///
/// \throws Error  kUnsupported if O is stored in blocks that reach over several heads (GGUF's quantized types, where
///                the width of a head is no multiple of the block) or in a type without a zero, naming the tensor, and
///                if the model is in memory and has no files; kFormat if the tensor is missing.
void check_prunable(const Model& model);

/// Adds a copy of the model to the RUN, in `folder`, in which the given query heads write nothing: their slices of the
/// output projections are zero. Every name, shape, type, the metadata, the order and the split into files are the
/// original's, since all other bytes are; so any loader takes it, and running it is running the original with
/// `zero_ablation` of these heads. Biases of O belong to no head and stay. Configuration, index, tokenizer and
/// preprocessor files are copied.
///
/// \throws Error  as `check_prunable`; kInvalidArgument if there is no such query head; kResource if the disk has no
///                room for the copy, before anything is written; kIo.
void add_pruned_checkpoint(RunFolder& run, const Model& model, std::span<const HeadId> heads,
                           const std::string& folder = "pruned", const std::function<void(double)>& progress = {});

}  // namespace headscope
