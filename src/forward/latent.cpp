#include "forward/latent.h"

#include <algorithm>

#include "forward/parallel_rows.h"
#include "forward/weights.h"

namespace headscope {

std::optional<LatentMap> latent_map(const NetworkLayer& layer, Role role) {
  if (!layer.latent || (role == Role::kQ && !layer.latent->q_down)) return std::nullopt;
  const LatentProjections& latent = *layer.latent;
  const std::size_t rank = layer.linear[static_cast<std::size_t>(role)].in();
  return role == Role::kQ ? LatentMap{&*latent.q_down, &*latent.q_norm, rank}
                          : LatentMap{&latent.kv_down, &latent.kv_norm, rank};
}

std::vector<float> latent_factors(const Checkpoint& checkpoint, const LatentMap& map, MatrixView x,
                                  Buffer<float>& scratch) {
  const Matrix down = mapped(checkpoint, *map.down, x, scratch);
  const Norm norm(checkpoint, *map.norm);
  std::vector<float> factors(down.rows());
  for (std::size_t t = 0; t < down.rows(); ++t) factors[t] = norm.factor(down.row(t).first(map.rank));
  return factors;
}

LayerHeads project_latent(const Checkpoint& checkpoint, const NetworkLayer& layer, const HeadSizes& sizes, MatrixView x,
                          Buffer<float>& scratch) {
  const LatentProjections& latent = *layer.latent;
  LayerHeads heads;
  heads.held.reserve(3);
  const auto columns = [](Matrix& matrix, const HeadSlice& slice) {
    return HeadColumns{matrix.values().data(), matrix.columns(), slice};
  };

  if (latent.q_down) {
    Matrix down = mapped(checkpoint, *latent.q_down, x, scratch);
    load_norm(checkpoint, latent.q_norm)->apply(down.view(), down.span());
    heads.held.push_back(mapped(checkpoint, layer.linear[0], down.view(), scratch));
  } else {
    heads.held.push_back(mapped(checkpoint, layer.linear[0], x, scratch));
  }
  heads.columns[0] = columns(heads.held.back(), layer.slices[0]);

  Matrix down = mapped(checkpoint, latent.kv_down, x, scratch);
  const std::size_t rank = layer.linear[1].in();
  const Norm norm(checkpoint, latent.kv_norm);
  parallel_for_rows(down.rows(), [&](std::size_t t) {
    const std::span<float> row = down.row(t).first(rank);
    norm.apply_row(row, row);
  });
  heads.held.push_back(mapped(checkpoint, layer.linear[1], down.view().block(0, down.rows(), 0, rank), scratch));
  const HeadColumns own = columns(heads.held.back(), layer.slices[1]);
  heads.columns[2] = columns(heads.held.back(), layer.slices[2]);

  const std::size_t width = sizes.width(Role::kQ);
  Matrix& keys = heads.held.emplace_back(x.rows(), sizes.heads * width);
  parallel_for_rows(x.rows(), [&](std::size_t t) {
    const std::span<const float> shared = down.row(t).subspan(rank);
    for (std::size_t a = 0; a < sizes.heads; ++a) {
      const auto out =
          std::copy_n(own.at(t, a), sizes.d_key, keys.row(t).begin() + static_cast<std::ptrdiff_t>(a * width));
      std::ranges::copy(shared, out);
    }
  });
  HeadSlice slice;
  slice.stride = width;
  heads.columns[1] = columns(keys, slice);
  return heads;
}

std::size_t latent_width(const NetworkLayer& layer, const HeadSizes& sizes) {
  const LatentProjections& latent = *layer.latent;
  return (latent.q_down ? latent.q_down->out() : 0) + latent.kv_down.out() + layer.linear[0].out() +
         layer.linear[1].out() + sizes.heads * sizes.width(Role::kQ);
}

}  // namespace headscope
