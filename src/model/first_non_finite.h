#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <span>

#include "headscope/io/checkpoint.h"

namespace headscope {

/// Finds the smallest index of a non-finite value. Thread-safe.
class FirstNonFinite {
 public:
  void look(std::span<const float> values, std::size_t index_of_first);

  /// \throws Error  kNumeric, naming tensor and index, if `look` found one.
  void report(const Checkpoint& checkpoint, const StoredTensor& tensor) const;

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::atomic<std::size_t> smallest_{kNone};
};

}  // namespace headscope
