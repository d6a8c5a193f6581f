#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "headscope/app/map_selection.h"
#include "headscope/base/context.h"
#include "headscope/base/ranks.h"
#include "headscope/organize/network_tensor.h"
#include "headscope/organize/tensor_share.h"
#include "headscope/run/map_description.h"

namespace headscope::app {

/// Maps that were loaded.
struct MapSource {
  NetworkTensor tensor;               ///< With several ranks, the heads of this rank.
  MapInfo info;                       ///< About all heads.
  MapDescription description;         ///< What the tokens.json of the source says; empty if there is none.
  std::string fingerprint;            ///< Of the whole array, before anything was selected.
  std::string mask_fingerprint = {};  ///< Of the array of the mask, if there is one.

  /// The tensor as this rank's part of the whole. `ranks` are those it was loaded for. The source must outlive the
  /// share.
  [[nodiscard]] TensorShare share(Ranks& ranks) const { return {tensor, info.head_names, ranks}; }
};

/// Returns the name of the file of maps in a folder of captured maps.
[[nodiscard]] std::string_view map_file(MapKind what) noexcept;

/// What a command takes for maps, in addition to `pair_memory`.
struct MapUse {
  std::size_t copies = 1;     ///< Of the maps of all heads, themselves included, without those for distances.
  std::size_t per_entry = 0;  ///< Bytes per entry of one map, while it is analyzed.
  bool one_by_one = false;    ///< Whether maps are organized one at a time.
};

/// Bytes of an entry of a map: its value, and whether it is present.
inline constexpr std::size_t kEntryBytes = sizeof(float) + 1;

/// Bytes of the matrices of all pairs along each axis that organizing maps takes. Extents are heads, queries, keys.
[[nodiscard]] std::size_t pair_memory(const std::array<std::size_t, 3>& extents) noexcept;

/// Loads maps from an .npy, .npz or .safetensors file, from memory, or from a folder with pattern.npy or scores.npy and
/// the tokens.json that `capture` writes beside them. Checks that the budget is enough for all that the command does
/// with the selected heads; with several ranks, with those of one rank.
///
/// What is not selected stays in the file, except for arrays of .npz files and in Fortran order, which are decoded as a
/// whole. Collective: each rank loads its share of the heads, see `make_network_tensor`.
///
/// \throws Error  on all ranks: kInvalidArgument for options that do not fit together; kIo, kFormat, kUnsupported if
/// the
///                source cannot be read; kResource if it is too large; kBackend if ranks see different arrays;
///                otherwise as `make_network_tensor`.
[[nodiscard]] MapSource load_maps(const MapSelection& selection, bool keep_absent, const MapUse& use,
                                  const Context& context);

/// Where the input came from, for people: what its tokens.json says, else its file.
inline constexpr std::string_view kUnnamedArray = "array";
[[nodiscard]] std::string name_of(const MapSource& source);

/// Adds to an identity what determines the maps besides the options.
void describe_maps(std::map<std::string, std::string>& identity, const MapSource& source);

}  // namespace headscope::app
