#include "model/network/side_streams.h"

#include <string>

#include "model/layer_names.h"

namespace headscope {

SideStreams resolve_side_streams(const BlockSource& block) {
  const SideStreamNames& names = block.names.side_streams;
  SideStreams streams;
  for (std::size_t i = 0; block.tensors.find(layer_name(names.in, i) + ".weight") != nullptr; ++i) {
    streams.in.push_back(block.tensors.linear(layer_name(names.in, i), block.width, block.width));
    streams.out.push_back(block.tensors.linear(layer_name(names.out, i), block.width, block.width));
  }
  if (streams.in.empty()) block.tensors.lacks(layer_name(names.in, 0) + ".weight");
  return streams;
}

StreamUpdate resolve_stream_update(const BlockSource& block, std::size_t layer) {
  const SideStreamNames& names = block.names.side_streams;
  const auto linear = [&](const std::string& pattern, std::size_t in, std::size_t out) {
    return block.tensors.linear(block.tensors.named(pattern, layer), in, out);
  };
  std::size_t count = 1;
  while (block.tensors.find(layer_name(names.in, count - 1) + ".weight") != nullptr) ++count;
  return {.router = linear(names.router, block.width, count),
          .router_norm = *block.layer_norm(names.router_norm, layer, block.width, /*required=*/true),
          .prediction = linear(names.prediction, count, count * count),
          .correction = linear(names.correction, count, count)};
}

}  // namespace headscope
