#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "forward/placement.h"
#include "forward/weights.h"
#include "headscope/base/buffer.h"
#include "headscope/base/matrix.h"
#include "headscope/model/head_sizes.h"
#include "headscope/model/network.h"

namespace headscope {

/// The projection of one role of a layer, with its weights in memory: computes single heads.
class RoleReader {
 public:
  /// All arguments must outlive this object.
  RoleReader(const Checkpoint& checkpoint, const NetworkLayer& layer, const HeadSizes& sizes, std::size_t index,
             Role role, const Placement& placement);

  /// Components of a head that are computed. In latent attention a key has more: the rotary key that the heads share.
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  /// out = the query, key or value of a head for rows x of what the branch reads, before its placement. Norms of
  /// latents and over all heads together see what x becomes there. On the calling thread.
  void read(MatrixView x, std::size_t head, MatrixSpan out) const;

 private:
  // A linear map in memory.
  class Map {
   public:
    Map(const Checkpoint& checkpoint, const StoredLinear& linear);
    // out = some outputs of the map, for all rows x.
    void apply(MatrixView x, std::size_t first, MatrixSpan out) const;

   private:
    Buffer<float> decoded_;
    MatrixView weights_;
    std::vector<float> bias_;
  };
  // The latent that the projection reads.
  struct Latent {
    Map down;
    Norm norm;
    std::size_t rank;
  };

  const Placement& placement_;
  Role role_;
  HeadSlice slice_;
  std::size_t heads_;
  std::size_t width_;
  std::optional<Latent> latent_;
  Map map_;
  std::vector<float> own_bias_;  // of all heads, beside that of `map_`; empty for none
};

}  // namespace headscope
