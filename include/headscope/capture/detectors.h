#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "headscope/model/head_id.h"
#include "headscope/model/model.h"

namespace headscope {

/// What a head can be seen doing in its attention pattern A[query, key] on random tokens r_1 .. r_m, r_1 .. r_m.
enum class Detector {
  kPrevious,   ///< A[t, t-1]
  kIdentity,   ///< A[t, t]: the identity heads of arXiv 2601.10266.
  kDuplicate,  ///< A[t, t-m], t in the second half: the same token, seen before.
  kInduction,  ///< A[t, t-m+1], t in the second half: the token that followed it (arXiv 2209.11895).
};

inline constexpr std::array<Detector, 4> kDetectors = {Detector::kPrevious, Detector::kIdentity, Detector::kDuplicate,
                                                       Detector::kInduction};

[[nodiscard]] std::string_view to_string(Detector detector) noexcept;

struct DetectOptions {
  std::size_t sequences = 32;
  std::size_t length = 64;  ///< Tokens of a sequence, both halves; even. Shorter where the model has fewer positions.
  std::uint64_t seed = 0;
  /// Ids are drawn below this; 0: all the model has.
  std::size_t vocabulary = 0;
  /// Stands before every sequence and is not counted. By default config.json's `bos_token_id`, if the model has one.
  std::optional<std::uint32_t> bos = std::nullopt;
  bool without_bos = false;
  std::size_t memory = std::size_t{2} << 30;
  std::function<void(double)> progress = {};
};

/// One head's scores.
struct HeadScores {
  HeadId head;
  /// By Detector: the mean over sequences and queries, in [0, 1]. Nothing where the detector makes no sense: images
  /// have no previous token and no repetition, so their models get `identity` alone, on random pixels; in models that
  /// see both ways `previous`, `duplicate` and `induction` look back as in the others.
  std::array<std::optional<double>, 4> scores;
};

struct DetectResult {
  std::vector<HeadScores> heads;  ///< Layer by layer.
  std::size_t sequences = 0;
  std::size_t length = 0;            ///< Tokens without BOS.
  std::optional<std::uint32_t> bos;  ///< Which stood before them.
};

/// Runs the model on seeded random sequences and reads every head's pattern off. Same result for any thread count.
/// \throws Error  as `run_forward`; kInvalidArgument for an odd length, or fewer than 4 tokens.
[[nodiscard]] DetectResult detect(const Model& model, const DetectOptions& options = {});

/// A label file (see relate/labels.h) of the heads whose score is at least `threshold`, class by class. `name` stands
/// in the file.
[[nodiscard]] std::string labels_from(const DetectResult& result, double threshold, std::string_view name);

}  // namespace headscope
