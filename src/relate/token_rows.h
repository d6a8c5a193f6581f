#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/model/model.h"
#include "headscope/relate/token_profile.h"

namespace headscope {

/// The rows w_t of the vocabulary, and e_t = (w_t - mean w) / ||w_t - mean w|| computed from them; 0 for a token equal
/// to the mean.
class TokenRows {
 public:
  /// Reads the vocabulary once, for its mean. \throws Error  as `token_profiles`.
  TokenRows(const Model& model, const TokenProfileOptions& options);

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Writes e_t of the tokens [first, first + count), one after another, on all threads.
  void read_centered(std::size_t first, std::size_t count, float* out) const;

 private:
  void decode_row(std::size_t token, std::span<float> row) const;
  void find_mean();
  [[noreturn]] void reject_non_finite(std::size_t index) const;
  void center(std::span<float> row) const;

  const Checkpoint& checkpoint_;
  const StoredTensor& tensor_;
  std::size_t d_;
  std::size_t count_ = 0;
  std::vector<double> mean_;
  double least_square_ = 0;  // squared; a row at most this far from the mean is the mean
};

}  // namespace headscope
