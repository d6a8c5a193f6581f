#pragma once

#include <cstddef>

#include "forward/pass/pass.h"
#include "forward/pass/stack.h"

namespace headscope {

/// Runs one layer: attention, MLP and what follows them, each added to the stream. This is the only implementation:
/// every family's block is this one with some parts omitted.
void run_layer(Pass& pass, Stack& stack, std::size_t layer);

/// Runs the layers of a hybrid that have no attention and come before that layer.
void run_mixers(Pass& pass, Stack& stack, std::size_t before);

}  // namespace headscope
