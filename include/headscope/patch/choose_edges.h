#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headscope/patch/cut.h"
#include "headscope/patch/screen.h"
#include "headscope/relate/wiring.h"

namespace headscope {

/// Why an edge is measured.
enum class EdgeKind {
  kTop,      ///< Among the closest by the projection kernel.
  kScreen,   ///< Among the largest of the screen, and not kTop.
  kGiven,    ///< Requested by name.
  kControl,  ///< Random, between the same layers and roles as one of the others.
};
[[nodiscard]] std::string_view to_string(EdgeKind kind) noexcept;

struct ChosenEdge {
  PatchEdge edge;
  EdgeKind kind;
  EdgeKind sample;  ///< The kind itself; for a control, the kind of the edge that it is like.
};

struct EdgeChoice {
  std::size_t top = 20;      ///< Edges per role of each list: by projection kernel, and by screen.
  std::size_t controls = 1;  ///< Random edges per chosen edge.
  std::uint64_t seed = 0;
};

/// Chooses the edges to measure (METHODS 12), role by role: the top of the wiring, the top of the screen, then
/// controls. `wiring` and `screens` have the same roles in the same order. No edge is chosen twice; where two layers
/// have no other pair left, there are fewer controls.
[[nodiscard]] std::vector<ChosenEdge> choose_edges(const Wiring& wiring, std::span<const Screen> screens,
                                                   const HeadSizes& sizes, const EdgeChoice& choice);

/// Adds controls to edges that were requested by name.
[[nodiscard]] std::vector<ChosenEdge> with_controls(std::span<const PatchEdge> given, const HeadSizes& sizes,
                                                    const EdgeChoice& choice);

}  // namespace headscope
