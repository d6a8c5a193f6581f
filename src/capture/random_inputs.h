#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "capture/detected_attention.h"
#include "headscope/base/context.h"
#include "headscope/capture/detectors.h"
#include "headscope/forward/forward.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// Seeded random inputs of a model, on which its heads are scored.
///
/// Texts are half a sequence of random tokens and its repetition. A decoder with an encoder reads the token that
/// decoding starts with and a copy of the source; if the source is audio, random tokens and their repetition.
class RandomInputs {
 public:
  /// `is_second`: sequences other than those of the first length, of which they must not be a part. The model and the
  /// network must outlive it.
  /// \throws Error  kInvalidArgument for an odd length or fewer than 4 tokens; kFormat if the model does not say with
  ///                which token decoding starts.
  RandomInputs(const Model& model, const Network& network, const DetectOptions& options, bool is_second,
               const Context& context);

  [[nodiscard]] ModelInput draw(std::size_t sequence) const;
  /// Tokens of a sequence, without those before it.
  [[nodiscard]] std::size_t length() const noexcept { return length_; }
  /// Maximum length, even.
  [[nodiscard]] std::size_t room() const noexcept { return room_; }
  [[nodiscard]] bool has_sequence() const noexcept { return modality_ != Modality::kImage; }
  [[nodiscard]] std::optional<std::uint32_t> bos() const noexcept { return bos_; }
  /// All tokens of an input.
  [[nodiscard]] std::size_t tokens() const noexcept;
  /// What is scored of each block of the model, in their order.
  [[nodiscard]] std::vector<DetectedAttention> attentions() const;

 private:
  void plan_tokens(const DetectOptions& options);
  void plan_audio();
  void plan_images(const Context& context);
  [[nodiscard]] std::vector<std::uint32_t> repeated(std::size_t sequence) const;
  [[nodiscard]] ModelInput draw_image(std::size_t sequence) const;

  const Model& model_;
  const Network& network_;
  std::uint64_t seed_;
  bool is_second_;
  Modality modality_;
  std::size_t length_ = 0;
  std::size_t room_ = 0;
  std::size_t vocabulary_ = 0;
  std::optional<std::uint32_t> bos_ = std::nullopt;
  std::optional<std::uint32_t> start_ = std::nullopt;  // of decoding
  std::size_t source_ = 0;                             // tokens of audio
  Shape image_;                                        // channels, height, width
};

}  // namespace headscope
