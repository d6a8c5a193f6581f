#pragma once

#include <cstddef>
#include <map>

#include "forward/head_columns.h"
#include "headscope/model/head_sizes.h"

namespace headscope {

/// Keys and values that later layers of a stack use in place of their own.
class LentKeys {
 public:
  /// Keeps the heads of a layer if a later one uses its keys.
  void keep(const HeadSizes& sizes, std::size_t layer, LayerHeads heads);

  /// Points the keys and values of a layer to those that it borrows.
  /// \throws Error  kInvalidArgument if the pass, which began with layer `begin`, has not computed them.
  void borrow(const HeadSizes& sizes, std::size_t layer, std::size_t begin, LayerHeads& heads) const;

 private:
  std::map<std::size_t, LayerHeads> by_layer_;
};

}  // namespace headscope
