#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/model/head_id.h"
#include "headscope/model/model.h"

namespace headscope {

/// Behavior that can be read off a head's attention pattern A[query, key] on random tokens r_1 .. r_m, r_1 .. r_m.
///
/// In cross-attention, where the target is a copy of the source, kIdentity is the diagonal: the token of the source
/// that the query is a copy of; kNext is the one that follows it.
enum class Detector {
  kPrevious,   ///< A[t, t-1]
  kIdentity,   ///< A[t, t]: the identity heads of arXiv 2601.10266.
  kDuplicate,  ///< A[t, t-m], t in the second half: the earlier occurrence of the same token.
  kInduction,  ///< A[t, t-m+1], t in the second half: the token that followed it (arXiv 2209.11895).
  kNext,       ///< A[t, t+1]; of encoders and of cross-attention.
  kFirst,      ///< A[t, 0]; of encoders and of cross-attention.
};

inline constexpr std::array kDetectors = {Detector::kPrevious,  Detector::kIdentity, Detector::kDuplicate,
                                          Detector::kInduction, Detector::kNext,     Detector::kFirst};

[[nodiscard]] std::string_view to_string(Detector detector) noexcept;

struct DetectOptions {
  std::size_t sequences = 32;
  std::size_t length = 64;  ///< Tokens per sequence, both halves together; even. Reduced if the model has fewer
                            ///< positions.
  /// A second length, because scores depend on it: by up to 0.37 between 64 and 128 tokens. Even. Not set: twice
  /// `length`. Reduced like `length`; if that leaves the same length, half of it, rounded to an even number from 4 on.
  /// 0: only one length.
  std::optional<std::size_t> second_length = std::nullopt;
  std::uint64_t seed = 0;
  /// Ids are drawn below this; 0: from the whole vocabulary.
  std::size_t vocabulary = 0;
  /// Prepended to every sequence and not scored. Default: `bos_token_id` of config.json or GGUF, if the model has one.
  std::optional<std::uint32_t> bos = std::nullopt;
  bool without_bos = false;
};

/// Indexed by Detector; empty where the detector does not apply.
using DetectorScores = std::array<std::optional<double>, kDetectors.size()>;

/// Scores of one head.
struct HeadScores {
  HeadId head;
  /// The mean over sequences and queries, in [0, 1]. Images have no previous token and no repetition, so image models
  /// only get `identity`, on random pixels. In bidirectional models `previous`, `duplicate` and `induction` look back
  /// as in causal ones. In a model with an encoder and a decoder, heads of the encoder get `previous`, `identity`,
  /// `next` and `first`; those of the decoder the same as in causal models; cross-attention `identity`, `next` and
  /// `first`, of audio `first` alone.
  DetectorScores scores = {};
  DetectorScores spread = {};  ///< Standard deviation over sequences; empty if there is only one.
  /// The same on sequences of the second length; empty if there is none.
  DetectorScores second = {};
  DetectorScores second_spread = {};
};

/// What a head of a block scores that attends to all visible tokens alike: 1/(t + 1) for token t of causal attention,
/// averaged over the scored queries; one over the number of keys elsewhere. Sliding windows are not considered.
struct BlockChance {
  Block block = Block::kOnly;
  DetectorScores scores = {};
};

struct DetectResult {
  std::vector<HeadScores> heads;  ///< Layer by layer.
  std::size_t sequences = 0;
  std::size_t length = 0;  ///< Tokens without BOS.
  /// Of the second length: as many sequences as have about the same number of tokens in total, at least two. 0 if
  /// there is no second length, as for images.
  std::size_t second_sequences = 0;
  std::size_t second_length = 0;
  std::vector<BlockChance> chance;  ///< Of every block.
  std::vector<BlockChance> second_chance;
  /// The token prepended to every sequence, if any. A decoder with an encoder reads its own token before the sequence.
  std::optional<std::uint32_t> bos;
};

/// Runs the model on seeded random sequences and scores every head's pattern. The result does not depend on the number
/// of threads. The forward passes count against the memory budget, as in `run_forward`.
/// \throws Error  as `run_forward`; kInvalidArgument if there are no sequences, or for an odd length or fewer than 4
///                tokens; kFormat if a model with a decoder does not say with which token decoding starts.
[[nodiscard]] DetectResult detect(const Model& model, const DetectOptions& options = {}, const Context& context = {});

/// How a head's scores compare with a threshold.
enum class Detected {
  kNo,
  kAtOneLength,  ///< At only one of two lengths.
  kYes,          ///< At all lengths.
};
[[nodiscard]] Detected is_detected(const HeadScores& head, Detector detector, double threshold) noexcept;

/// Returns a label file (see relate/labels.h) that lists, per class, the heads whose score is at least `threshold`
/// at all lengths.
/// `name` is the name written to the file.
[[nodiscard]] std::string labels_from(const DetectResult& result, double threshold, std::string_view name);

}  // namespace headscope
