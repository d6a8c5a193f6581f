#include "forward/mixers/mixer.h"

#include "forward/mixers/causal_kernel.h"
#include "forward/mixers/gated_delta.h"
#include "forward/mixers/state_space.h"
#include "forward/parallel_rows.h"
#include "forward/weights.h"

namespace headscope {
namespace {

void convolve(const Checkpoint& checkpoint, const ShortConvolution& mixer, MatrixView x, MatrixSpan out,
              Buffer<float>& scratch) {
  const Matrix parts = mapped(checkpoint, mixer.in, x, scratch);
  const std::size_t width = parts.columns() / 3;
  const CausalKernel kernel(checkpoint, *mixer.kernel, mixer.bias);
  Matrix inputs(x.rows(), width);
  parallel_for_rows(x.rows(), [&](std::size_t t) {
    for (std::size_t c = 0; c < width; ++c) inputs(t, c) = parts(t, c) * parts(t, 2 * width + c);
  });
  Matrix mixed(x.rows(), width);
  parallel_for_rows(x.rows(), [&](std::size_t t) {
    kernel.apply(inputs, t, mixed.row(t));
    for (std::size_t c = 0; c < width; ++c) mixed(t, c) *= parts(t, width + c);
  });
  apply_linear(checkpoint, mixer.out, mixed.view(), out, scratch);
}

}  // namespace

void apply_mixer(const Checkpoint& checkpoint, const MixerLayer& mixer, MatrixView x, MatrixSpan out,
                 Buffer<float>& scratch) {
  if (mixer.convolution) convolve(checkpoint, *mixer.convolution, x, out, scratch);
  if (mixer.delta) apply_gated_delta(checkpoint, *mixer.delta, x, out, scratch);
  if (mixer.selective) apply_selective_state(checkpoint, *mixer.selective, x, out, scratch);
  if (mixer.grouped) apply_grouped_state(checkpoint, *mixer.grouped, x, out, scratch);
}

std::size_t mixer_width(const MixerLayer& mixer) {
  if (mixer.convolution) return mixer.convolution->in.out() + 2 * mixer.convolution->out.in();
  if (mixer.selective) {
    const SelectiveState& one = *mixer.selective;
    return 2 * one.in.out() + 2 * one.select.out() + one.step.out();
  }
  if (mixer.grouped) return grouped_state_width(*mixer.grouped);
  if (!mixer.delta) return 0;
  std::size_t width = mixer.delta->out.in();
  for (const StoredLinear& in : mixer.delta->in) width += 3 * in.out();
  return width;
}

}  // namespace headscope
