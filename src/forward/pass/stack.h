#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "forward/pass/lent_keys.h"
#include "forward/pass/pass.h"
#include "forward/pass/position_tables.h"
#include "forward/weights.h"
#include "headscope/base/matrix.h"
#include "headscope/model/network.h"

namespace headscope {

/// The rows of one input that are in the stream.
struct KeptRows {
  std::size_t at;     ///< In the stream.
  std::size_t first;  ///< Among the input's tokens.
  std::size_t count;
};

/// What cross-attention reads: the output of the encoder.
struct EncoderOutput {
  std::vector<Member> members = {};  ///< Rows of each input in keys and values.
  Matrix stream = {};
  /// By member, its first row in `stream` if copies of an input share their rows; empty if each has its own, as in keys
  /// and values.
  std::vector<std::size_t> shared = {};
};

/// One batch on its way through a stack of layers: the residual stream, and what the branch that is being computed
/// reads and writes. Every matrix has one row per token of the batch, or per kept token at the end.
struct Stack {
  /// Embeds the tokens of a batch, or lets `start` write them if it is set. `in`, `bias` and `causal` are those of the
  /// stack.
  Stack(Pass& pass, const NetworkInput& in, const ScoreBias& bias, bool causal, std::vector<Member> batch,
        const std::function<void(std::size_t input, MatrixSpan rows)>& start);

  std::vector<Member> members;
  std::vector<KeptRows> kept;  ///< By member.
  PositionTables positions;
  Matrix stream;
  Matrix read;                       ///< Input of a branch.
  Matrix written;                    ///< Output of a branch.
  Matrix heads;                      ///< Outputs of the heads, before O.
  std::vector<Matrix> side_streams;  ///< Those that no branch reads (`SideStreams`).
  Matrix predicted;                  ///< With side streams: the stream before the block.
  Matrix layer_inputs;  ///< `token_inputs`: one row per token, layers one after another; empty if there are none.
  LentKeys lent_keys;
  EncoderOutput memory;

  /// One input's rows of a matrix.
  [[nodiscard]] static MatrixSpan rows(Matrix& matrix, const Member& member) {
    return matrix.span().block(member.first, member.tokens, 0, matrix.columns());
  }

  /// Computes a branch's input: the stream, normalized if the branch has a norm.
  void read_stream(const std::optional<Norm>& norm);

  /// Computes `layer_inputs` from the embedding, which the stream holds.
  void compute_layer_inputs(Pass& pass, const NetworkInput& in);

  /// Removes the rows of which no output is requested, after the last attention: from then on no token reads another.
  void keep_requested_rows(const Pass& pass);
};

/// What a branch's output is multiplied by and normalized with before it is added to the stream.
struct Branch {
  const StoredTensor* scale = nullptr;
  std::optional<Norm> norm = {};  ///< Of the branch in pre-norm models, of the sum in post-norm models.
};

/// Adds a branch's output, which is overwritten, to the stream. Returns the factors of the norm by row (`NormFactors`),
/// or nothing if there is no norm or nobody asked.
std::vector<float> add_branch(const Pass& pass, const Branch& branch, Matrix& output, Matrix& stream);

}  // namespace headscope
