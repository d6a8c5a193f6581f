#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/forward/layer_attention.h"
#include "headscope/patch/recorded_pass.h"

namespace headscope {

/// A target layer of the screen: everything that does not depend on the source.
class ScreenTarget {
 public:
  /// `lengths` are the numbers of tokens of all inputs; `post_norm` is that of `HeadChange`.
  ScreenTarget(const RecordedPass& record, std::size_t layer, std::span<const std::size_t> lengths, bool post_norm);

  [[nodiscard]] const LayerAttention& attention() const noexcept { return attention_; }
  /// What the norm before attention multiplies each token of an input by, apart from its gain.
  [[nodiscard]] std::span<const float> read_factors(std::size_t input) const { return inputs_[input].read_factors; }

  /// For several sources, the sum over tokens of ||change of the head's output||^2 / ||x||^2 on one input. `changes`
  /// stacks what each source adds to the head's query, key or value before norms and positions: (sources * tokens) x
  /// d_head. It is overwritten. On the calling thread.
  void add_effects(std::size_t input, Role role, std::size_t head, MatrixSpan changes, std::span<double> sums) const;

  /// Bytes that an object takes, and that each call takes with this many sources.
  [[nodiscard]] static std::size_t memory(const HeadSizes& sizes, std::span<const std::size_t> lengths);
  [[nodiscard]] static std::size_t call_memory(const HeadSizes& sizes, std::size_t tokens, std::size_t sources);

 private:
  // What the heads computed in the recorded pass.
  struct Input {
    ProjectedHeads raw;
    std::vector<Matrix> q;        // by query head, with norm and position
    std::vector<Matrix> k;        // by KV head, with norm and position
    std::vector<Matrix> pattern;  // by query head
    std::vector<Matrix> output;   // by query head, without its gate
    std::vector<float> read_factors;
    std::vector<double> squares;  // ||x||^2 per token, over what a norm on the branch multiplies by
  };
  [[nodiscard]] Input input(const RecordedPass& record, std::size_t layer, std::size_t index, bool post_norm) const;
  // The outputs of the query heads that use a changed query or key, next to each other, minus the recorded ones.
  void change_patterns(const Input& in, Role role, std::size_t head, MatrixSpan changes, MatrixSpan outputs) const;
  void change_values(const Input& in, std::size_t head, MatrixView changes, MatrixSpan outputs) const;

  // Multiplies the outputs of the query heads from `first` on by their gates, if there are any. An edge into Q changes
  // the query, not the gate that is stored beside it.
  void apply_gates(const Input& in, std::size_t first, MatrixSpan outputs) const;

  HeadSizes sizes_;
  LayerAttention attention_;
  std::size_t group_;  // query heads per KV head
  std::vector<Input> inputs_;
  std::vector<Matrix> grams_;  // of O, for the query heads of each KV head
};

}  // namespace headscope
