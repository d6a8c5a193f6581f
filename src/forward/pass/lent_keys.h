#pragma once

#include <cstddef>
#include <map>
#include <span>

#include "forward/head_columns.h"
#include "forward/pass/batch.h"
#include "forward/pass/pass.h"
#include "headscope/model/head_sizes.h"

namespace headscope {

/// Keys and values that later layers of a stack use in place of their own.
class LentKeys {
 public:
  /// Takes the keys of layers before the first one to run from `ForwardOptions::lent_keys`, if it is set.
  /// \throws Error  kInvalidArgument if they have another shape than the input.
  void restore(const Pass& pass, std::span<const Member> members);
  /// Keeps the heads of a layer, which are placed, if a later one uses its keys, and reports these.
  void keep(const Pass& pass, std::span<const Member> members, std::size_t layer, LayerHeads heads);

  /// Points the keys and values of a layer to those that it borrows.
  /// \throws Error  kInvalidArgument if the pass, which began with layer `begin`, has not computed them.
  void borrow(const HeadSizes& sizes, std::size_t layer, std::size_t begin, LayerHeads& heads) const;

 private:
  std::map<std::size_t, LayerHeads> by_layer_;
};

}  // namespace headscope
