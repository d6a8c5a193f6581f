#include "forward/pass/lent_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headscope/base/error.h"

namespace headscope {
namespace {

// Keys and values of a layer in matrices of their own, all inputs one after another.
LayerHeads empty_keys(const HeadSizes& sizes, std::size_t layer, std::size_t rows) {
  LayerHeads heads;
  heads.held.reserve(2);
  const std::size_t count = sizes.heads_of(layer, Role::kK);
  for (const Role role : {Role::kK, Role::kV}) {
    const std::size_t width = sizes.width(layer, role);
    Matrix& held = heads.held.emplace_back(rows, count * width);
    HeadSlice slice;
    slice.stride = width;
    heads.columns[static_cast<std::size_t>(role)] = {held.values().data(), held.columns(), slice};
  }
  return heads;
}

void copy_rows(MatrixView from, MatrixSpan to) {
  if (from.rows() != to.rows() || from.columns() != to.columns()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("keys or values of an earlier layer have {} rows of {}, expected {} of {}", from.rows(),
                            from.columns(), to.rows(), to.columns()));
  }
  for (std::size_t t = 0; t < to.rows(); ++t) {
    for (std::size_t j = 0; j < to.columns(); ++j) to.row(t)[j] = from(t, j);
  }
}

// The heads of one input side by side.
Matrix side_by_side(const HeadColumns& from, const Member& member, std::size_t heads, std::size_t width) {
  Matrix rows(member.tokens, heads * width);
  for (std::size_t t = 0; t < member.tokens; ++t) {
    for (std::size_t a = 0; a < heads; ++a) {
      std::copy_n(from.at(member.first + t, a), width, rows.row(t).begin() + static_cast<std::ptrdiff_t>(a * width));
    }
  }
  return rows;
}

}  // namespace

bool lends_keys(const HeadSizes& sizes, std::size_t layer, std::size_t begin) noexcept {
  for (std::size_t later = std::max(layer + 1, begin); later < sizes.layers; ++later) {
    if (sizes.kv_layer(later) == layer) return true;
  }
  return false;
}

void LentKeys::restore(const Pass& pass, std::span<const Member> members) {
  if (!pass.options.lent_keys) return;
  const std::size_t rows = members.back().first + members.back().tokens;
  for (std::size_t layer = 0; layer < pass.options.begin_layer; ++layer) {
    if (!lends_keys(pass.sizes, layer, pass.options.begin_layer)) continue;
    LayerHeads heads = empty_keys(pass.sizes, layer, rows);
    for (const Member& member : members) {
      const LentRows lent = pass.options.lent_keys(member.input, layer);
      copy_rows(lent.keys, heads.held[0].span().block(member.first, member.tokens, 0, heads.held[0].columns()));
      copy_rows(lent.values, heads.held[1].span().block(member.first, member.tokens, 0, heads.held[1].columns()));
    }
    by_layer_[layer] = std::move(heads);
  }
}

void LentKeys::keep(const Pass& pass, std::span<const Member> members, std::size_t layer, LayerHeads heads) {
  if (!lends_keys(pass.sizes, layer)) return;
  for (const Member& member : members) {
    if (!pass.options.on_lent_keys) break;
    const std::size_t count = pass.sizes.heads_of(layer, Role::kK);
    const Matrix keys = side_by_side(heads.columns[1], member, count, pass.sizes.width(layer, Role::kK));
    const Matrix values = side_by_side(heads.columns[2], member, count, pass.sizes.width(layer, Role::kV));
    pass.options.on_lent_keys({member.input, layer, keys.view(), values.view()});
  }
  by_layer_[layer] = std::move(heads);
}

void LentKeys::borrow(const HeadSizes& sizes, std::size_t layer, std::size_t begin, LayerHeads& heads) const {
  const auto found = by_layer_.find(sizes.kv_layer(layer));
  if (found == by_layer_.end()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("a pass from layer {} lacks the keys of layer {}", begin, sizes.kv_layer(layer)));
  }
  heads.columns[1] = found->second.columns[1];
  heads.columns[2] = found->second.columns[2];
}

}  // namespace headscope
