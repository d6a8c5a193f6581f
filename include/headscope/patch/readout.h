#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "headscope/forward/forward.h"

namespace headscope {

/// A prediction of the model that counts.
struct Readout {
  std::size_t row;                     ///< Row of the output: a token, or 0 for a classifier.
  std::uint32_t answer;                ///< The token or class that is right.
  std::optional<std::uint32_t> other;  ///< If set, the value is logit(answer) - logit(other) instead of the loss.
};

/// Values of readouts, summed while a model runs: -ln p(answer), or a difference of logits.
class ReadoutSum {
 public:
  /// `readouts` are those of one input, by row, and must outlive this object.
  explicit ReadoutSum(std::span<const Readout> readouts) : readouts_(readouts) {}

  /// \throws Error  kInvalidArgument if a readout names a row or an answer that the model does not have.
  void add(const OutputRows& rows);
  [[nodiscard]] double sum() const noexcept { return sum_; }

 private:
  std::span<const Readout> readouts_;
  double sum_ = 0;
};

/// The tokens that the rows of the output belong to: those of the target, if the model has a decoder.
[[nodiscard]] const std::vector<std::uint32_t>& output_ids(const ModelInput& input) noexcept;
/// The next token of every token from `first` on, for causal language models and decoders.
[[nodiscard]] std::vector<Readout> next_token_readouts(const ModelInput& input, std::size_t first);

}  // namespace headscope
