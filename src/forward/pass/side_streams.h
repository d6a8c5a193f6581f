#pragma once

#include "forward/pass/pass.h"
#include "forward/pass/stack.h"
#include "headscope/model/network.h"

namespace headscope {

// Streams beside the one that attention and the MLP read and write (AltUp, arXiv 2301.13310). Without any, the first
// and the last function do nothing.

/// Makes the side streams of the embedded tokens, or lets `ForwardOptions::start_side` write them.
void begin_side_streams(Pass& pass, Stack& stack);

/// Before a block: every stream becomes a combination of all. Those that a pass was given are combined already.
void predict_streams(Pass& pass, Stack& stack, std::size_t layer, const StreamUpdate& update);

/// After a block: what it has changed in the main stream is added to all.
void correct_streams(Pass& pass, Stack& stack, std::size_t layer, const StreamUpdate& update);

/// After the last block: the main stream becomes the mean of all.
void merge_side_streams(Pass& pass, Stack& stack);

}  // namespace headscope
