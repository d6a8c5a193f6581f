#pragma once

#include <cstddef>
#include <functional>

#include "forward/pass/stack.h"
#include "headscope/base/matrix.h"

namespace headscope {

/// Adds to the rows of every input what `change_of` returns for it (`ForwardOptions::mlp_change`). `rows` has the rows
/// of the stream.
/// \throws Error  kInvalidArgument if a change has another shape than its input.
void add_changes(const Stack& stack, const std::function<MatrixView(std::size_t input)>& change_of, Matrix& rows);

}  // namespace headscope
