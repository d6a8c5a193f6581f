#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/forward/layer_attention.h"
#include "headscope/patch/head_change.h"
#include "headscope/patch/recorded_pass.h"

namespace headscope {

/// A target layer of the screen: everything that does not depend on the source.
class ScreenTarget {
 public:
  ScreenTarget(const RecordedPass& record, const HeadChange& change, std::size_t layer);

  [[nodiscard]] const LayerAttention& attention() const noexcept { return attention_; }
  /// What the norm of a role multiplies each token of an input by, apart from its gain.
  [[nodiscard]] std::span<const float> read_factors(Role role, std::size_t input) const {
    return role == Role::kQ ? inputs_[input].query_factors : inputs_[input].key_factors;
  }
  /// Number of tokens of an input that a role reads, and over which the effect is a mean.
  [[nodiscard]] std::size_t tokens_of(Role role, std::size_t input) const { return inputs_[input].raw.of(role).rows(); }
  [[nodiscard]] std::size_t queries(std::size_t input) const { return inputs_[input].squares.size(); }

  /// For several sources, the sum over tokens of ||change of the head's output||^2 / ||x||^2 on one input. `changes`
  /// stacks what each source adds to the head's queries, keys or values before norms and positions, apart from the
  /// factors of norms of latents and over all heads together: (sources * tokens) x width. It is overwritten. On the
  /// calling thread.
  void add_effects(std::size_t input, Role role, std::size_t head, MatrixSpan changes, std::span<double> sums) const;

  /// Bytes that an object takes, and that each call takes with this many sources.
  [[nodiscard]] static std::size_t memory(const HeadSizes& sizes, std::span<const std::size_t> lengths);
  [[nodiscard]] static std::size_t call_memory(const HeadSizes& sizes, std::size_t tokens, std::size_t sources);

 private:
  // What the heads computed in the recorded pass.
  struct Input {
    std::size_t index = 0;
    ProjectedHeads raw;
    std::vector<Matrix> q;        // by query head, placed
    std::vector<Matrix> k;        // by KV head, placed
    std::vector<Matrix> v;        // by KV head, placed; empty if that does nothing and they are the layer's own
    std::vector<Matrix> pattern;  // by query head
    std::vector<Matrix> output;   // by query head, without its gate
    std::vector<float> query_factors;
    std::vector<float> key_factors;
    std::vector<double> squares;  // ||x||^2 per token, over what a norm or a factor on the branch multiplies by
  };
  [[nodiscard]] Input input(const RecordedPass& record, const HeadChange& change, std::size_t layer,
                            std::size_t index) const;
  [[nodiscard]] MatrixView value(const Input& in, std::size_t kv) const;
  // Adds what the pass computed, and places the result: changes become changed queries, keys or values.
  void place_changes(const Input& in, Role role, std::size_t head, MatrixSpan changes) const;
  // The outputs of the query heads that use a changed query or key, next to each other, minus the recorded ones.
  void change_patterns(const Input& in, Role role, std::size_t head, MatrixSpan changes, MatrixSpan outputs) const;
  void change_values(const Input& in, std::size_t head, MatrixSpan changes, MatrixSpan outputs) const;

  // Multiplies the outputs of the query heads from `first` on by their gates, if there are any. An edge into Q changes
  // the query, not the gate that is stored beside it.
  void apply_gates(const Input& in, std::size_t first, MatrixSpan outputs) const;

  // The components of one head in matrices with all heads.
  [[nodiscard]] std::size_t stride(Role role) const noexcept { return role == Role::kV ? value_width_ : key_width_; }

  HeadSizes sizes_;
  LayerAttention attention_;
  std::size_t kv_heads_;
  std::size_t group_;        // query heads per KV head
  std::size_t key_width_;    // of queries and keys, with the rotary key that heads share
  std::size_t value_width_;  // of values and outputs
  std::vector<Input> inputs_;
  std::vector<Matrix> grams_;  // of O, for the query heads of each KV head
};

}  // namespace headscope
