#pragma once

#include <functional>
#include <span>

#include "headscope/forward/forward.h"

namespace headscope {

/// Runs one stage.
using StagePass = std::function<void(const Model&, const ForwardOptions&, const Context&)>;

/// Runs a model whose layers are one stage of several (Swin): the stages before it, the stage itself with what the
/// options ask for, and the stages after it if the output is wanted and they lead to a classifier. Without a classifier
/// the output is that of the stage. Holds the streams between two stages, of all inputs.
void run_stages(const Model& model, std::span<const ModelInput> inputs, const ForwardOptions& options,
                const Context& context, const StagePass& pass);

/// The memory that the stages before this one need at least, if its longest input has this many tokens.
[[nodiscard]] std::size_t earlier_stages_memory(const Model& model, const Network& network, std::size_t longest);

}  // namespace headscope
