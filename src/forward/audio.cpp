#include "forward/audio.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "forward/parallel_rows.h"
#include "headscope/base/error.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/model.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

std::size_t stride_of(std::size_t convolution) {
  return convolution == 0 ? 1 : 2;
}

// Frames after a convolution whose padding keeps the first and the last frame in the middle of a window.
std::size_t frames_after(std::size_t convolution, std::size_t frames) {
  return (frames - 1) / stride_of(convolution) + 1;
}

// Row t of the result holds the window of frame t * stride, channel by channel, in the order of the weights. Frames
// outside of the audio are 0.
Matrix windows(const Matrix& frames, std::size_t width, std::size_t stride, std::size_t count) {
  const std::size_t channels = frames.columns();
  Matrix result(count, channels * width);
  parallel_for_rows(count, [&](std::size_t t) {
    for (std::size_t k = 0; k < width; ++k) {
      const std::size_t at = t * stride + k;  // of the frames with width / 2 zeros before them
      if (at < width / 2 || at - width / 2 >= frames.rows()) continue;
      const std::span<const float> frame = frames.row(at - width / 2);
      for (std::size_t c = 0; c < channels; ++c) result(t, c * width + k) = frame[c];
    }
  });
  return result;
}

}  // namespace

std::size_t frames_to_tokens(const NetworkInput& in, std::size_t frames) {
  for (std::size_t i = 0; i < in.convolutions.size(); ++i) frames = frames_after(i, frames);
  return frames;
}

std::size_t audio_tokens(const NetworkInput& in, const AudioFeatures& audio, std::size_t index) {
  const auto refuse = [index](const std::string& why) {
    throw Error(ErrorKind::kFormat, fmt::format("input {}: {}", index, why));
  };
  if (audio.values.empty()) refuse("the model takes features of audio, but this input has none");
  const std::size_t bands = in.convolutions.front().weight->shape[1];
  if (audio.bands != bands) refuse(fmt::format("{} bands of features, but the model expects {}", audio.bands, bands));
  if (element_count(Shape{audio.bands, audio.frames}) != audio.values.size()) {
    refuse(fmt::format("{} values for {} bands of {} frames", audio.values.size(), audio.bands, audio.frames));
  }
  const std::size_t tokens = frames_to_tokens(in, audio.frames);
  const std::size_t places = in.positions != nullptr ? in.positions->shape.front() : tokens;
  if (tokens > places) {
    refuse(fmt::format("{} frames make {} tokens, but the model has positions for only {}; shorten the audio",
                       audio.frames, tokens, places));
  }
  return tokens;
}

void embed_audio(const Model& model, const NetworkInput& in, const AudioFeatures& audio, MatrixSpan stream) {
  Matrix frames(audio.frames, audio.bands);
  for (std::size_t t = 0; t < audio.frames; ++t) {
    for (std::size_t b = 0; b < audio.bands; ++b) frames(t, b) = audio.values[b * audio.frames + t];
  }
  Buffer<float> scratch;
  for (std::size_t i = 0; i < in.convolutions.size(); ++i) {
    const StoredLinear& one = in.convolutions[i];
    const std::size_t out = one.weight->shape[0];
    const Matrix unfolded = windows(frames, one.weight->shape[2], stride_of(i), frames_after(i, frames.rows()));
    const std::span<const float> weights = read_weights(model.checkpoint(), *one.weight, scratch);
    const MatrixView kernel(weights.data(), out, unfolded.columns(), unfolded.columns());
    std::vector<float> bias;
    if (one.bias != nullptr) bias = read_vector(model.checkpoint(), *one.bias);
    Matrix result(unfolded.rows(), out);
    parallel_multiply(unfolded.view(), kernel.transposed(), result.span());
    parallel_for_rows(result.rows(), [&](std::size_t t) {
      if (!bias.empty()) add_scaled(bias, {}, result.row(t));
      activate(Activation::kGelu, result.row(t));
    });
    frames = std::move(result);
  }
  for (std::size_t t = 0; t < stream.rows(); ++t) std::ranges::copy(frames.row(t), stream.row(t).begin());
}

}  // namespace headscope
