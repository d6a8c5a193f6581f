#pragma once

#include <cstddef>
#include <optional>

#include "headscope/model/head_id.h"
#include "headscope/model/head_sizes.h"
#include "headscope/model/role.h"

namespace headscope {

/// An edge that can be cut: what one role of a head reads from a head that precedes it (`precedes`).
struct PatchEdge {
  HeadId source;  ///< A query head: its output.
  Role role;      ///< Q, K or V of the target.
  HeadId target;  ///< A query head for Q; for K and V a KV head, if the model groups queries.

  friend bool operator==(const PatchEdge&, const PatchEdge&) = default;
};

/// \throws Error  kInvalidArgument if an edge names a head that does not exist, or nothing flows from its source to its
///                target.
void check_edge(const PatchEdge& edge, const HeadSizes& sizes);

/// Places of an edge among all heads that write, and among all heads that read in its role: layer by layer, as rows and
/// columns of affinities and screens are.
[[nodiscard]] std::size_t row_of(const PatchEdge& edge, const HeadSizes& sizes);
[[nodiscard]] std::size_t column_of(const PatchEdge& edge, const HeadSizes& sizes);
/// Number of heads that read in a role in the layers before one, or with `sizes.layers` in all layers: the first column
/// of a layer, and the number of columns. Layers that use the keys and values of another have none.
[[nodiscard]] std::size_t targets_before(std::size_t layer, Role role, const HeadSizes& sizes) noexcept;
/// The inverse; nothing if nothing flows from the source to the target.
[[nodiscard]] std::optional<PatchEdge> edge_at(Role role, std::size_t row, std::size_t column, const HeadSizes& sizes);

}  // namespace headscope
