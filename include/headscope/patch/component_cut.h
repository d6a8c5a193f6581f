#pragma once

#include "headscope/model/head_id.h"
#include "headscope/model/head_sizes.h"
#include "headscope/model/network.h"
#include "headscope/relate/component.h"

namespace headscope {

/// An edge from a head to a reader that is not a head: the MLP of a layer, or the unembedding.
struct ComponentCut {
  HeadId source;       ///< A query head: its output.
  ComponentId target;  ///< Of kind kMlp or kUnembedding.

  friend bool operator==(const ComponentCut&, const ComponentCut&) = default;
};

/// `parallel` models compute attention and MLP of a layer from the same stream, so an MLP does not read the heads of
/// its layer.
/// \throws Error  kInvalidArgument if a component does not exist, the target is a head, or it reads before the source
///                writes.
void check_cut(const ComponentCut& cut, const HeadSizes& sizes, bool parallel);

/// \throws Error  kInvalidArgument if the unembedding does not read the stream of the model's stage (Swin);
///                kUnsupported if it reads the mean of several streams (Gemma 3n).
void require_read_by_unembedding(const Network& network);

}  // namespace headscope
