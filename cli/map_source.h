#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/session.h"
#include "headscope/base/ranks.h"
#include "headscope/organize/network_tensor.h"
#include "headscope/organize/tensor_share.h"

namespace headscope::cli {

/// Which maps a command works on, as typed.
struct MapSourceArgs {
  std::filesystem::path source = {};
  std::string what = "pattern";
  std::string axes = "hqk";
  std::string array = {};  ///< Name of the array in an npz or safetensors file.
  std::string mask = {};   ///< Empty: what the source says, else none.
  std::vector<std::string> layers = {};
  std::vector<std::string> heads = {};
  std::string queries = {};
  std::string keys = {};
  std::size_t skip_first = 0;
};

/// SOURCE, --axes, --array, --mask, --skip-first, --layers, --heads, --queries, --keys; not --what.
void add_map_source_options(Command& command, MapSourceArgs& args);

/// What the options decide, for a manifest.
[[nodiscard]] std::string describe(const MapSourceArgs& args);

struct MapSource {
  NetworkTensor tensor;                  ///< With several ranks the heads of this one.
  std::vector<std::string> head_names;   ///< Of all heads, whoever has them.
  double absent = 0;                     ///< Share of the entries of all heads that are absent.
  std::string fingerprint;               ///< Of the whole array, before anything was chosen.
  std::string file;                      ///< Where the array came from.
  std::vector<std::string> query_names;  ///< Tokens, or positions where they are not known.
  std::vector<std::string> key_names;

  /// The tensor as this rank's part of the whole; `ranks` are those it was loaded for. The source must outlive it.
  [[nodiscard]] TensorShare share(Ranks& ranks) const { return {tensor, head_names, ranks}; }
};

/// Reads maps from an .npy, .npz or .safetensors file, or from a folder with pattern.npy or scores.npy and the
/// tokens.json that `capture` writes beside them, or takes the host's. `memory` bounds what the chosen heads may take,
/// three times over; with several ranks, those of a rank.
///
/// What is not chosen stays in the file, but arrays of .npz files and in Fortran order, which are decoded whole. With
/// several ranks each takes its share of the heads, see `make_network_tensor`; all call it.
///
/// \throws Error  kInvalidArgument for options that make no sense; kIo, kFormat, kUnsupported if the source
///                cannot be read; kResource if it is too large; kBackend if ranks see different arrays: on all ranks;
///                and as `make_network_tensor`.
[[nodiscard]] MapSource load_maps(const MapSourceArgs& args, bool keep_absent, std::size_t memory,
                                  const Session& session, Ranks& ranks = one_rank());

}  // namespace headscope::cli
