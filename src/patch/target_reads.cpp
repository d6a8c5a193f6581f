#include "patch/target_reads.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "headscope/linalg/matrix_product.h"
#include "headscope/patch/head_change.h"

namespace headscope {
namespace {

// Copies the matrices of all heads of a role side by side.
void copy_heads(const HeadWeights& weights, MatrixSpan to) {
  for (std::size_t a = 0; a < weights.heads(); ++a) {
    const MatrixView head = weights.head(a);
    for (std::size_t i = 0; i < to.rows(); ++i) {
      const std::span<float> row = to.row(i).subspan(a * head.columns(), head.columns());
      for (std::size_t j = 0; j < row.size(); ++j) row[j] = head(i, j);
    }
  }
}

void copy_rows(const Matrix& from, MatrixSpan to) {
  for (std::size_t i = 0; i < from.rows(); ++i) std::ranges::copy(from.row(i), to.row(i).begin());
}

}  // namespace

std::vector<LayerReading> readings_of(std::span<const Role> roles, const HeadSizes& sizes, std::size_t layer) {
  std::vector<LayerReading> all;
  for (std::size_t r = 0; r < roles.size(); ++r) {
    const StepRange sources = steps_before(sizes, layer, roles[r]);
    if (sources.empty() || sizes.heads_of(layer, roles[r]) == 0) continue;  // another layer's keys and values
    auto found = std::ranges::find(all, sources, &LayerReading::sources);
    if (found == all.end()) found = all.insert(found, {.layer = layer, .sources = sources});
    found->roles.push_back(roles[r]);
    const std::size_t width = sizes.width(layer, roles[r]);
    std::size_t column = found->targets.empty() ? 0 : found->targets.back().column + found->targets.back().width;
    for (std::size_t head = 0; head < sizes.heads_of(layer, roles[r]); ++head, column += width) {
      found->targets.push_back({r, roles[r], head, column, width});
    }
  }
  return all;
}

TargetReads::TargetReads(const Model& model, std::size_t layer, std::span<const Role> roles,
                         const LayerAttention& attention) {
  const HeadSizes& sizes = model.info().sizes;
  std::vector<std::optional<LatentRead>> latents;  // by part
  std::size_t width = 0;
  std::optional<std::size_t> key_value;  // where the latent is that K and V read
  for (const Role role : roles) {
    const std::size_t columns = sizes.heads_of(layer, role) * sizes.width(layer, role);
    std::optional<LatentRead>& latent = latents.emplace_back(attention.latent(role));
    Part part{width, columns, columns_, columns, role, Matrix()};
    columns_ += columns;
    if (latent) {
      part.count = latent->down.columns();
      part.from_latent = std::move(latent->heads);
      if (is_key_value(role)) part.first = key_value.emplace(key_value.value_or(width));
    }
    width = std::max(width, part.first + part.count);
    parts_.push_back(std::move(part));
  }
  of_stream_ = Matrix(sizes.d_model, width);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const MatrixSpan own = of_stream_.span().block(0, sizes.d_model, part.first, part.count);
    if (latents[i]) {
      copy_rows(latents[i]->down, own);
    } else {
      copy_heads(model.load_heads(layer, part.role, WeightProcessing::kRaw), own);
    }
  }
  const std::vector<float>& gain = attention.read_gain(roles.front());
  for (std::size_t i = 0; i < gain.size(); ++i) {
    for (float& value : of_stream_.row(i)) value *= gain[i];
  }
  if (attention.centers(roles.front())) center_columns(of_stream_);
}

void TargetReads::multiply(MatrixView writes, MatrixView carried, MatrixSpan blocks) const {
  if (std::ranges::all_of(parts_, [](const Part& part) { return part.from_latent.rows() == 0; })) {
    parallel_multiply(writes, carried, blocks);
    return;
  }
  Matrix read(writes.rows(), carried.columns());
  parallel_multiply(writes, carried, read.span());
  for (const Part& part : parts_) {
    const MatrixView own = read.view().block(0, read.rows(), part.first, part.count);
    const MatrixSpan out = blocks.block(0, blocks.rows(), part.column, part.columns);
    if (part.from_latent.rows() > 0) {
      parallel_multiply(own, part.from_latent.view(), out);
      continue;
    }
    for (std::size_t i = 0; i < out.rows(); ++i) {
      for (std::size_t j = 0; j < out.columns(); ++j) out.row(i)[j] = own(i, j);
    }
  }
}

}  // namespace headscope
