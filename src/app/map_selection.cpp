#include "headscope/app/map_selection.h"

#include <limits>

#include "app/map_array.h"

namespace headscope {

void describe(MapSelection& maps, OptionList& options) {
  options.add("source", maps.source.file, "Folder with maps that 'capture' wrote, or .npy, .npz or .safetensors file")
      .positional()
      .required()
      .circumstantial();
  options
      .add("block", maps.block,
           named_values<Block>({{Block::kEncoder, "encoder"}, {Block::kDecoder, "decoder"}, {Block::kCross, "cross"}}),
           "Of a model with an encoder and a decoder: the maps of this block (encoder, decoder, cross)")
      .circumstantial();
  options.add("input", maps.input,
              "Of several inputs in a folder: all (trees and tables are of the first), or the name or number of one");
  options.add("axes", maps.axes, "Axes of an array: hqk, lhqk, qkh, or qk for one map")
      .one_of({"hqk", "lhqk", "qkh", "qk"});
  options.add("array", maps.array, "Name of the array in an .npz or .safetensors file with several");
  options.add("mask", maps.mask,
              "none, causal, zeros (exact zeros are absent) or FILE.npy (zeros in it are absent); if empty: what the "
              "folder says, else none");
  options.add("skip-first", maps.skip_first, "Number of first tokens to leave out: attention sinks");
  describe(maps.selection, options);
  options.add("queries", maps.queries, range_form(), "Only this range of queries, e.g. 10-50");
  options.add("keys", maps.keys, range_form(), "Only this range of keys");
}

std::string fingerprint(const ArrayInput& array) {
  const Context unlimited{.memory = std::numeric_limits<std::size_t>::max()};
  return app::fingerprint_of(app::open_map_array(array, "array", "", unlimited).values);
}

void describe_what(MapKind& what, OptionList& options) {
  options.add("what", what, named_values<MapKind>({{MapKind::kPattern, "pattern"}, {MapKind::kScores, "scores"}}),
              "pattern (after the softmax) or scores (before)");
}

}  // namespace headscope
