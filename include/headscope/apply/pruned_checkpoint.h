#pragma once

#include <span>
#include <string>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/forward/forward.h"
#include "headscope/model/head_id.h"
#include "headscope/model/model.h"
#include "headscope/run/run_folder.h"

namespace headscope {

/// Returns the query heads that write nothing, ascending: their slice of the output projection is all zeros, as in a
/// checkpoint that was pruned before. Reads O of every layer once.
/// \throws Error  as `Model::load_heads`.
[[nodiscard]] std::vector<HeadId> zero_heads(const Model& model);

/// Checks that each head can be removed individually from the model's files.
///
/// \throws Error  kUnsupported if O is stored in blocks that span several heads (GGUF's quantized types, if the head
///                width is not a multiple of the block size) or in a type whose zero bytes do not decode to zero,
///                naming the tensor, and if the model is in memory and has no files; kFormat if the tensor is missing.
void check_prunable(const Model& model);

/// Adds to the RUN, in `folder`, a copy of the model in which each of the given query heads writes the same vector for
/// every token. Their slices of the output projections are zero, and what they are replaced by, O_a m_a, is added to
/// the bias of the output projection (`biases_with`), rounded to the bias's type.
///
/// If all replacements are zeros, all other bytes are unchanged, so names, shapes, types, metadata, order and the split
/// into files are those of the original: any loader can read the copy, and running it is equivalent to running the
/// original with `zero_ablation` of these heads. The same holds with other replacements if the model has such biases
/// (`BiasKind::kStored`). If they have to be added (`kAdded`), they follow the other tensors of their file as float32,
/// those of Q, K and V as zeros; config.json gets the family's `bias_key`, and an index gets their names.
/// Configuration, index, tokenizer and preprocessor files are otherwise copied.
///
/// \throws Error  as `check_prunable`; kInvalidArgument if there is no such query head; kUnsupported if a replacement
///                is not zero and the files cannot hold it, see `find_output_bias`; kResource if the disk has too
///                little space for the copy, checked before anything is written; kIo.
void add_pruned_checkpoint(RunFolder& run, const Model& model, std::span<const HeadReplacement> heads,
                           const std::string& folder = "pruned", const Context& context = {});

}  // namespace headscope
