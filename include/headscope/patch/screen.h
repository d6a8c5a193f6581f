#pragma once

#include <span>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/base/matrix.h"
#include "headscope/io/finished_work.h"
#include "headscope/model/role.h"
#include "headscope/patch/head_change.h"
#include "headscope/patch/recorded_pass.h"

namespace headscope {

/// Local effects of all edges into one role.
struct Screen {
  Role role;
  /// Rows: all query heads, layer-major. Columns: all targets (`column_of`); KV heads for K and V. 0 where nothing
  /// flows from the source to the target.
  Matrix values;
};

/// Estimates for every pair of heads what a cut would change (METHODS 12): the root mean square over tokens of
/// ||change of the target's output|| / ||x||, with x the stream before the target's layer. The scales of its norm, of
/// norms of latents and of norms over all heads together are held fixed; norms of single heads are computed again. The
/// output of a KV head is the sum of those of the query heads of its layer that use it.
///
/// The change of a query, key or value is z_s (O_s^T R_t), with z_s the change of the source's output and R_t the
/// target's reading matrix: the h x h blocks whose squares the projection kernel sums. In latent attention R_t is a
/// product, whose factors are applied one after the other.
///
/// Cost per pair: 2 d h^2 flops for the block, then an attention of n tokens per input. Memory: the blocks of one
/// pair of layers, the maps of one layer and the result. Results do not depend on the number of threads. `finished`
/// holds the target layers that an earlier run finished and receives those of this one; null to keep nothing.
///
/// \throws Error  kInvalidArgument for a role that does not read; otherwise as `Model::load_heads`.
[[nodiscard]] std::vector<Screen> screen(const RecordedPass& record, const HeadChange& change,
                                         std::span<const Role> roles, const Context& context = {},
                                         FinishedWork* finished = nullptr);

/// Returns the memory that it needs, including the result.
/// \throws Error  as `token_count`.
[[nodiscard]] std::size_t screen_memory(const Model& model, std::span<const ModelInput> inputs,
                                        std::span<const Role> roles);

}  // namespace headscope
