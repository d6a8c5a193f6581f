#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"
#include "headscope/model/weight_processing.h"

namespace headscope {

/// A part of a model, other than a head, that writes to or reads from the residual stream through one matrix.
enum class StreamPart {
  kEmbedding,    ///< Writes: one vector per token, or per pixel of a patch. Token vectors are centered over tokens.
  kPosition,     ///< Writes: one vector per position, centered over positions.
  kMlpOut,       ///< Writes: one vector per neuron; of a mixture, those of all experts, then of the shared one.
  kMlpIn,        ///< Reads: one vector per neuron, or two: all gates first, then all ups.
  kRotaryKey,    ///< Reads: one vector per component of the rotary key that the heads of a layer share.
  kUnembedding,  ///< Reads: one vector per token, or per class of an image classifier; centered over them.
};

/// The matrix of a part as vectors of d_model floats: the columns of A, d_model x count.
///
/// Processed like the heads (`WeightProcessing`). Folded: a part that reads is multiplied by the gain of the norm
/// before it; LayerNorm models lose the all-ones direction on both sides. In both, what a part writes includes a scale
/// per channel where the family has one (DINOv2, Gemma 2 and 3, the norm after BLOOM's embedding). Biases play no part,
/// and for the same reason neither does the mean over tokens or positions.
///
/// Points into the model and the network, which must outlive it.
class StreamMatrix {
 public:
  /// `expert` selects one of a mixture; the shared one has the number after the last. Nothing: all of them.
  /// \throws Error  kUnsupported if `why_missing` is not empty; kNumeric if a norm's gain holds a NaN or an infinity.
  StreamMatrix(const Model& model, const Network& network, StreamPart part, std::size_t layer,
               WeightProcessing processing, std::optional<std::size_t> expert = std::nullopt);

  /// Number of vectors.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Stored type of the (first) tensor.
  [[nodiscard]] DType stored_type() const noexcept { return pieces_.front().tensor->dtype; }
  /// Writes the vectors [first, first + count) one after another, on all threads. Tensors that do not hold vectors as
  /// rows are decoded as a whole on the first call and kept: `scratch_bytes`. Of a mixture, one expert is kept at a
  /// time, and the file's pages of the others are released.
  void read(std::size_t first, std::size_t count, std::span<float> out);
  /// Memory for decoded tensors.
  [[nodiscard]] std::size_t scratch_bytes() const noexcept;
  /// \throws Error  kNumeric if a weight is NaN or infinite; the message gives its index.
  void reject_non_finite() const;

 private:
  struct Piece {
    const StoredTensor* tensor = nullptr;
    bool by_rows = true;    // a row of the tensor is a vector
    bool whole = false;     // decoded as a whole
    std::size_t first = 0;  // of the tensor's vectors; then every `step`-th
    std::size_t step = 1;
    std::size_t count = 0;
    Buffer<float> scratch = {};
    std::span<const float> values = {};
  };

  void add(const StoredTensor& tensor, bool by_rows, std::size_t first_row = 0);
  void add_part(const StoredTensor& tensor, bool by_rows, std::size_t first, std::size_t step, std::size_t count);
  void add_readers(const StoredExperts& experts, bool gates, std::optional<std::size_t> expert);
  void add_writers(const StoredExperts& experts, std::optional<std::size_t> expert);
  void read_piece(Piece& piece, std::size_t first, std::size_t count, std::span<float> out);
  void leave(Piece& piece);
  void multiply_factors(const StoredNorm& norm);
  void find_mean();
  void read_raw(std::size_t first, std::size_t count, std::span<float> out);
  void process(std::span<float> vector) const;

  const Checkpoint& checkpoint_;
  std::size_t d_;
  std::size_t count_ = 0;
  std::vector<Piece> pieces_;
  std::vector<float> factors_;
  std::vector<double> mean_;  // over the vectors; empty: not subtracted
  bool center_ = false;
  bool streams_ = false;  // keeps one piece at a time
};

/// Returns why the model has no such part, e.g. "it has no table of positions"; empty if it has one.
[[nodiscard]] std::string why_missing(const Model& model, const Network& network, StreamPart part);

}  // namespace headscope
