#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "headscope/app/patch.h"
#include "headscope/model/head_sizes.h"
#include "headscope/patch/cut.h"
#include "headscope/relate/role_pair.h"

namespace headscope::app {

/// Edges that were requested by name.
struct GivenEdges {
  std::vector<PatchEdge> heads = {};
  std::vector<ComponentCut> components = {};

  [[nodiscard]] bool empty() const noexcept { return heads.empty() && components.empty(); }
};

/// Reads the columns pair, source and target of a CSV file; others are ignored, so that edges.csv and patch.csv are
/// valid. Pair is OQ, OK, OV, OM (target L4M) or OU (target U). Duplicates are left out.
/// \throws Error  kIo, kFormat if a column or a name is missing or malformed; as `check_edge` and `check_cut`, with the
///                file and line.
[[nodiscard]] GivenEdges read_edges(const std::filesystem::path& path, const HeadSizes& sizes);

/// Returns the edges with these names. Duplicates are left out.
/// \throws Error  kInvalidArgument if a name is malformed; as `check_edge` and `check_cut`, with the index of
///                the edge.
[[nodiscard]] GivenEdges find_edges(std::span<const NamedEdge> names, const HeadSizes& sizes);

}  // namespace headscope::app
