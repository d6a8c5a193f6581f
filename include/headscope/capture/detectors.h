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
enum class Detector {
  kPrevious,   ///< A[t, t-1]
  kIdentity,   ///< A[t, t]: the identity heads of arXiv 2601.10266.
  kDuplicate,  ///< A[t, t-m], t in the second half: the earlier occurrence of the same token.
  kInduction,  ///< A[t, t-m+1], t in the second half: the token that followed it (arXiv 2209.11895).
};

inline constexpr std::array<Detector, 4> kDetectors = {Detector::kPrevious, Detector::kIdentity, Detector::kDuplicate,
                                                       Detector::kInduction};

[[nodiscard]] std::string_view to_string(Detector detector) noexcept;

struct DetectOptions {
  std::size_t sequences = 32;
  std::size_t length = 64;  ///< Tokens per sequence, both halves together; even. Reduced if the model has fewer
                            ///< positions.
  std::uint64_t seed = 0;
  /// Ids are drawn below this; 0: from the whole vocabulary.
  std::size_t vocabulary = 0;
  /// Prepended to every sequence and not scored. Default: `bos_token_id` of config.json or GGUF, if the model has one.
  std::optional<std::uint32_t> bos = std::nullopt;
  bool without_bos = false;
};

/// Scores of one head.
struct HeadScores {
  HeadId head;
  /// Indexed by Detector: the mean over sequences and queries, in [0, 1]. Empty where the detector does not apply:
  /// images have no previous token and no repetition, so image models only get `identity`, on random pixels. In
  /// bidirectional models `previous`, `duplicate` and `induction` look back as in causal ones.
  std::array<std::optional<double>, 4> scores;
};

struct DetectResult {
  std::vector<HeadScores> heads;  ///< Layer by layer.
  std::size_t sequences = 0;
  std::size_t length = 0;            ///< Tokens without BOS.
  std::optional<std::uint32_t> bos;  ///< The token prepended to every sequence, if any.
};

/// Runs the model on seeded random sequences and scores every head's pattern. The result does not depend on the number
/// of threads. The forward passes count against the memory budget, as in `run_forward`.
/// \throws Error  as `run_forward`; kInvalidArgument if there are no sequences, or for an odd length or fewer than 4
///                tokens.
[[nodiscard]] DetectResult detect(const Model& model, const DetectOptions& options = {}, const Context& context = {});

/// Returns a label file (see relate/labels.h) that lists, per class, the heads whose score is at least `threshold`.
/// `name` is the name written to the file.
[[nodiscard]] std::string labels_from(const DetectResult& result, double threshold, std::string_view name);

}  // namespace headscope
