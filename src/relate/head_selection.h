#pragma once

#include <cstddef>
#include <vector>

#include "headscope/model/head_sizes.h"

namespace headscope {

/// The layers and heads an analysis looks at, checked against a model.
class HeadSelection {
 public:
  /// Empty lists mean all.
  /// \throws Error  kInvalidArgument, naming a layer or head that does not exist.
  HeadSelection(const HeadSizes& sizes, const std::vector<std::size_t>& layers, const std::vector<std::size_t>& heads);

  /// Ascending, each once.
  [[nodiscard]] const std::vector<std::size_t>& layers() const noexcept { return layers_; }
  [[nodiscard]] const std::vector<std::size_t>& query_heads() const noexcept { return query_heads_; }
  /// Those that the chosen query heads use.
  [[nodiscard]] const std::vector<std::size_t>& kv_heads() const noexcept { return kv_heads_; }

 private:
  std::vector<std::size_t> layers_;
  std::vector<std::size_t> query_heads_;
  std::vector<std::size_t> kv_heads_;
};

}  // namespace headscope
