#include "forward/role_reader.h"

#include <algorithm>

#include "forward/latent.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/read_weights.h"

namespace headscope {

RoleReader::Map::Map(const Checkpoint& checkpoint, const StoredLinear& linear)
    : weights_(linear_weights(checkpoint, linear, decoded_)) {
  if (linear.bias != nullptr) bias_ = read_vector(checkpoint, *linear.bias);
}

void RoleReader::Map::apply(MatrixView x, std::size_t first, MatrixSpan out) const {
  if (!bias_.empty()) {
    const std::span<const float> own = std::span(bias_).subspan(first, out.columns());
    for (std::size_t t = 0; t < out.rows(); ++t) std::ranges::copy(own, out.row(t).begin());
  }
  multiply(x, weights_.block(0, x.columns(), first, out.columns()), out, 1, bias_.empty() ? 0 : 1);
}

RoleReader::RoleReader(const Checkpoint& checkpoint, const NetworkLayer& layer, const HeadSizes& sizes,
                       std::size_t index, Role role, const Placement& placement)
    : placement_(placement),
      role_(role),
      slice_(layer.slices[static_cast<std::size_t>(role)]),
      heads_(sizes.heads_of(index, role)),
      width_(sizes.width(index, role)),
      map_(checkpoint, layer.linear[static_cast<std::size_t>(role)]) {
  if (const StoredTensor* own = layer.role_biases[static_cast<std::size_t>(role)]) {
    own_bias_ = read_vector(checkpoint, *own);
  }
  if (const auto map = latent_map(layer, role)) {
    latent_.emplace(Latent{Map(checkpoint, *map->down), Norm(checkpoint, *map->norm), map->rank});
  }
}

void RoleReader::read(MatrixView x, std::size_t head, MatrixSpan out) const {
  Matrix latent;
  if (latent_) {
    latent = Matrix(x.rows(), latent_->rank);
    latent_->down.apply(x, 0, latent.span());
    for (std::size_t t = 0; t < latent.rows(); ++t) latent_->norm.apply_row(latent.row(t), latent.row(t));
    x = latent.view();
  }
  if (!placement_.is_joint(role_)) {
    map_.apply(x, slice_.first_of(head), out);
    for (std::size_t t = 0; t < out.rows() && !own_bias_.empty(); ++t) {
      for (std::size_t j = 0; j < width_; ++j) out.row(t)[j] += own_bias_[head * width_ + j];
    }
    return;
  }
  Matrix all(x.rows(), heads_ * width_);
  map_.apply(x, slice_.first_of(0), all.span());
  for (std::size_t t = 0; t < out.rows(); ++t) {
    const float factor = placement_.joint_factor(role_, all.row(t));
    for (std::size_t j = 0; j < width_; ++j) out.row(t)[j] = all(t, head * width_ + j) * factor;
  }
}

}  // namespace headscope
