#include "headscope/model/stream_matrix.h"

#include <fmt/format.h>

#include <algorithm>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/linalg/transpose.h"
#include "headscope/model/processing_steps.h"
#include "headscope/model/read_weights.h"
#include "model/block_scale.h"

namespace headscope {
namespace {

// Vectors per iteration of a parallel loop. Fixed, because it determines the order in which the mean is summed.
constexpr std::size_t kStrip = 256;

std::size_t strips(std::size_t count) {
  return (count + kStrip - 1) / kStrip;
}

}  // namespace

std::string why_missing(const Model& model, const Network& network, StreamPart part) {
  const std::size_t d = model.info().sizes.d_model;
  const bool image = model.info().modality == Modality::kImage;
  const NetworkOutput& output = network.output;
  if (part == StreamPart::kEmbedding && !network.input.tables.empty()) return "its embedding is in several tables";
  if ((part == StreamPart::kEmbedding || part == StreamPart::kPosition) && network.input.project) {
    return fmt::format("its embedding is {} wide and is projected to the residual stream of {}",
                       network.input.embedding->shape[1], d);
  }
  if (part == StreamPart::kPosition && network.input.positions == nullptr) return "it has no table of positions";
  if (part == StreamPart::kRotaryKey && model.info().sizes.d_rotary == 0) {
    return "the heads of a layer share no rotary key";
  }
  const bool is_mlp = part == StreamPart::kMlpIn || part == StreamPart::kMlpOut;
  // That of a decoder's layer follows its cross-attention.
  const auto lacks_mlp = [](const NetworkLayer& one) { return !one.has_mlp && one.block != Block::kDecoder; };
  if (is_mlp && std::ranges::any_of(network.layers, lacks_mlp)) {
    return "its MLPs are layers of their own, beside those with attention";
  }
  if (part != StreamPart::kUnembedding) return "";
  if (image) {
    if (output.classifiers.empty()) return "it has no classifier";
    return output.classifiers.size() == 1 && output.classifiers.front().in() == d
               ? ""
               : "its classifier does not read the residual stream of one token";
  }
  if (!output.unembedding) return "it has no unembedding";
  if (output.transform) return "a nonlinear transform is between the residual stream and its unembedding";
  if (output.project) return "its residual stream is projected before the unembedding";
  return "";
}

StreamMatrix::StreamMatrix(const Model& model, const Network& network, StreamPart part, std::size_t layer,
                           WeightProcessing processing, std::optional<std::size_t> expert)
    : checkpoint_(model.checkpoint()), d_(model.info().sizes.d_model) {
  if (const std::string why = why_missing(model, network, part); !why.empty()) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: {}", checkpoint_.path().string(), why));
  }
  const bool image = model.info().modality == Modality::kImage;
  const bool pre = network.order == NormOrder::kPre;
  const ProcessingSteps steps = steps_of(processing, model.info());
  center_ = steps.center;
  bool centered_over_vectors = true;
  // Whether the rows of a matrix that reads the stream are its vectors; of one that writes, its columns are.
  const auto reads_by_rows = [](const StoredLinear& linear) { return linear.storage == Storage::kOutIn; };
  switch (part) {
    case StreamPart::kEmbedding:
      add(image ? *network.input.patches.weight : *network.input.embedding, /*by_rows=*/!image);
      centered_over_vectors = !image;
      break;
    case StreamPart::kPosition:
      add(*network.input.positions, true, network.input.position_offset);
      break;
    case StreamPart::kMlpOut: {
      const NetworkLayer& one = network.layers.at(layer);
      if (one.experts) {
        add_writers(*one.experts, expert);
      } else {
        add(*one.down.weight, !reads_by_rows(one.down));
      }
      centered_over_vectors = false;
      if (one.mlp_scale != nullptr) factors_ = read_vector(checkpoint_, *one.mlp_scale);
      if (pre && one.norm_after_mlp) multiply_factors(*one.norm_after_mlp);
      break;
    }
    case StreamPart::kMlpIn: {
      const NetworkLayer& one = network.layers.at(layer);
      if (one.experts) {
        if (one.experts->is_gated()) add_readers(*one.experts, true, expert);
        add_readers(*one.experts, false, expert);
      } else {
        if (one.gate) add(*one.gate->weight, reads_by_rows(*one.gate));
        add(*one.up.weight, reads_by_rows(one.up));
      }
      centered_over_vectors = false;
      const std::optional<StoredNorm>& norm = one.mlp_norm ? one.mlp_norm : one.norm;
      if (steps.gain && norm) multiply_factors(*norm);
      break;
    }
    case StreamPart::kRotaryKey: {
      const NetworkLayer& one = network.layers.at(layer);
      add(*one.latent->kv_down.weight, true, one.linear[1].in());  // after the rows of the latent
      centered_over_vectors = false;
      if (steps.gain && one.norm) multiply_factors(*one.norm);
      break;
    }
    case StreamPart::kUnembedding:
      add(image ? *network.output.classifiers.front().weight : *network.output.unembedding->weight, true);
      if (steps.gain && network.output.norm) multiply_factors(*network.output.norm);
      break;
  }
  const bool embeds = part == StreamPart::kEmbedding || part == StreamPart::kPosition;
  if (embeds && pre && network.input.norm) multiply_factors(*network.input.norm);
  if (centered_over_vectors) find_mean();
}

void StreamMatrix::add(const StoredTensor& tensor, bool by_rows, std::size_t first_row) {
  const auto vectors = static_cast<std::size_t>(element_count(tensor.shape).value_or(0)) / d_;
  const std::size_t first = by_rows ? std::min(first_row, vectors) : 0;
  add_part(tensor, by_rows, first, 1, vectors - first);
}

void StreamMatrix::add_part(const StoredTensor& tensor, bool by_rows, std::size_t first, std::size_t step,
                            std::size_t count) {
  Piece piece;
  piece.tensor = &tensor;
  piece.by_rows = by_rows;
  piece.whole = !by_rows || find_block_scale(checkpoint_, tensor) != nullptr;
  piece.first = first;
  piece.step = step;
  piece.count = count;
  count_ += count;
  pieces_.push_back(std::move(piece));
}

void StreamMatrix::add_readers(const StoredExperts& experts, bool gates, std::optional<std::size_t> expert) {
  streams_ = true;
  const std::size_t hidden = experts.hidden();
  const bool separate = experts.gate_rows == GateRows::kSeparate;
  const ExpertMatrix& matrix = gates && separate ? *experts.gate : experts.up;
  const std::size_t step = experts.gate_rows == GateRows::kEven ? 2 : 1;
  const std::size_t up = separate ? 0 : experts.gate_rows == GateRows::kEven ? 1 : hidden;
  for (std::size_t e = 0; e < matrix.weights.size(); ++e) {
    if (expert && e != *expert) continue;
    add_part(*matrix.weights[e], matrix.storage == Storage::kOutIn, gates ? 0 : up, step, hidden);
  }
  if (!experts.shared || (expert && *expert != experts.count())) return;
  const SharedExpert& shared = *experts.shared;
  if (shared.gate_in_up) {
    const std::size_t width = shared.down.in();
    add_part(*shared.up.weight, shared.up.storage == Storage::kOutIn, gates ? 0 : width, 1, width);
  } else {
    const StoredLinear& linear = gates ? *shared.gate : shared.up;
    add(*linear.weight, linear.storage == Storage::kOutIn);
  }
}

void StreamMatrix::add_writers(const StoredExperts& experts, std::optional<std::size_t> expert) {
  streams_ = true;
  for (std::size_t e = 0; e < experts.count(); ++e) {
    if (!expert || e == *expert) add(*experts.down.weights[e], experts.down.storage == Storage::kInOut);
  }
  if (experts.shared && (!expert || *expert == experts.count()))
    add(*experts.shared->down.weight, experts.shared->down.storage == Storage::kInOut);
}

void StreamMatrix::multiply_factors(const StoredNorm& norm) {
  if (norm.gain == nullptr) return;
  const std::vector<float> gain = read_vector(checkpoint_, *norm.gain);
  if (factors_.empty()) factors_.assign(d_, 1);
  for (std::size_t i = 0; i < d_; ++i) factors_[i] *= gain[i] + norm.offset;
}

std::size_t StreamMatrix::scratch_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const Piece& piece : pieces_) {
    if (!piece.whole || is_read_in_place(*piece.tensor)) continue;
    const auto own = static_cast<std::size_t>(element_count(piece.tensor->shape).value_or(0)) * sizeof(float);
    bytes = streams_ ? std::max(bytes, own) : bytes + own;
  }
  return bytes;
}

void StreamMatrix::reject_non_finite() const {
  for (const Piece& piece : pieces_) headscope::reject_non_finite(checkpoint_, *piece.tensor);
}

void StreamMatrix::find_mean() {
  if (count_ == 0) return;
  constexpr std::size_t kBlock = 16 * kStrip;
  std::vector<double> total(d_);
  Buffer<float> block(std::min(kBlock, count_) * d_);
  for (std::size_t first = 0; first < count_; first += kBlock) {
    const std::size_t count = std::min(kBlock, count_ - first);
    read_raw(first, count, block.values().first(count * d_));
    DoubleMatrix sums(strips(count), d_);
    parallel_for(strips(count), [&](std::size_t strip) {
      for (std::size_t i = strip * kStrip; i < std::min(count, (strip + 1) * kStrip); ++i) {
        for (std::size_t j = 0; j < d_; ++j) sums(strip, j) += static_cast<double>(block.data()[i * d_ + j]);
      }
    });
    for (std::size_t strip = 0; strip < sums.rows(); ++strip) {
      for (std::size_t j = 0; j < d_; ++j) total[j] += sums(strip, j);
    }
  }
  for (double& value : total) value /= static_cast<double>(count_);
  mean_ = std::move(total);
}

void StreamMatrix::read(std::size_t first, std::size_t count, std::span<float> out) {
  read_raw(first, count, out);
  parallel_for(strips(count), [&](std::size_t strip) {
    for (std::size_t i = strip * kStrip; i < std::min(count, (strip + 1) * kStrip); ++i) {
      process(out.subspan(i * d_, d_));
    }
  });
}

void StreamMatrix::read_raw(std::size_t first, std::size_t count, std::span<float> out) {
  for (Piece& piece : pieces_) {
    if (first >= piece.count) {
      first -= piece.count;
      continue;
    }
    const std::size_t here = std::min(count, piece.count - first);
    read_piece(piece, first, here, out.first(here * d_));
    if (streams_ && first + here == piece.count) leave(piece);
    out = out.subspan(here * d_);
    count -= here;
    first = 0;
    if (count == 0) return;
  }
}

void StreamMatrix::read_piece(Piece& piece, std::size_t first, std::size_t count, std::span<float> out) {
  if (piece.whole && piece.values.empty()) {
    if (streams_) {
      for (Piece& other : pieces_) {
        if (!other.values.empty()) leave(other);
      }
    }
    piece.values = read_weights(checkpoint_, *piece.tensor, piece.scratch);
  }
  const std::size_t vectors = piece.values.size() / d_;
  parallel_for(strips(count), [&](std::size_t strip) {
    const std::size_t begin = strip * kStrip;
    const std::size_t size = std::min(kStrip, count - begin);
    const std::span<float> part = out.subspan(begin * d_, size * d_);
    const std::size_t row = piece.first + (first + begin) * piece.step;
    if (piece.step > 1) {
      for (std::size_t i = 0; i < size; ++i) {
        const std::span<float> one = part.subspan(i * d_, d_);
        const std::size_t at = row + i * piece.step;
        for (std::size_t j = 0; j < d_ && !piece.by_rows; ++j) one[j] = piece.values[j * vectors + at];
        if (piece.by_rows && piece.whole) std::ranges::copy(piece.values.subspan(at * d_, d_), one.begin());
        if (piece.by_rows && !piece.whole) read_part(*piece.tensor, at * d_, one);
      }
    } else if (!piece.by_rows) {
      transpose(piece.values.data() + row, vectors, d_, size, part.data(), d_);
    } else if (piece.whole) {
      std::ranges::copy(piece.values.subspan(row * d_, size * d_), part.begin());
    } else {
      read_part(*piece.tensor, row * d_, part);
    }
  });
}

void StreamMatrix::leave(Piece& piece) {
  piece.values = {};
  piece.scratch = {};
  checkpoint_.release(*piece.tensor);
}

void StreamMatrix::process(std::span<float> vector) const {
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    vector[i] = static_cast<float>(static_cast<double>(vector[i]) - mean_[i]);
  }
  for (std::size_t i = 0; i < factors_.size(); ++i) vector[i] *= factors_[i];
  if (!center_) return;
  double sum = 0;
  for (const float value : vector) sum += static_cast<double>(value);
  const auto mean = static_cast<float>(sum / static_cast<double>(d_));
  for (float& value : vector) value -= mean;
}

}  // namespace headscope
