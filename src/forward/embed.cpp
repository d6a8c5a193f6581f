#include "forward/embed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "forward/audio.h"
#include "forward/embed_image.h"
#include "forward/parallel_rows.h"
#include "forward/weights.h"
#include "headscope/base/error.h"
#include "headscope/forward/patch_grid.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

[[noreturn]] void refuse(std::size_t index, const std::string& why) {
  throw Error(ErrorKind::kFormat, fmt::format("input {}: {}", index, why));
}

std::size_t text_tokens(const NetworkInput& in, std::span<const std::uint32_t> ids, std::size_t index) {
  std::size_t vocabulary = in.tables.empty() ? in.embedding->shape[0] : 0;
  for (const EmbeddingTable& table : in.tables) vocabulary += table.rows->shape[0];
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= vocabulary) {
      refuse(index, fmt::format("token {} has id {}, but the model's vocabulary has {} tokens", i, ids[i], vocabulary));
    }
  }
  if (in.positions != nullptr || in.sinusoids > 0) {
    const std::size_t stored = in.positions != nullptr ? rows_of(in.positions) : in.sinusoids + in.position_offset;
    const std::size_t places = stored - std::min(stored, in.position_offset);
    if (ids.size() > places) {
      refuse(index,
             fmt::format(
                 "{} tokens, but the model has positions for only {}; shorten the input or cut it with --max-tokens",
                 ids.size(), places));
    }
  }
  return ids.size();
}

// Returns the row of the position table for every token.
std::vector<std::size_t> position_rows(const NetworkInput& in, std::span<const std::uint32_t> ids) {
  std::vector<std::size_t> positions(ids.size());
  std::size_t next = in.position_offset;
  for (std::size_t i = 0; i < ids.size(); ++i) positions[i] = in.padding == ids[i] ? *in.padding : next++;
  return positions;
}

// ESM was trained with 80% of a random 15% of the tokens dropped, and scales the embeddings as dropout would.
float kept_scale(const NetworkInput& in, std::span<const std::uint32_t> ids) {
  if (!in.dropped_token) return 1;
  const auto dropped = static_cast<double>(std::ranges::count(ids, *in.dropped_token));
  return static_cast<float>((1 - 0.15 * 0.8) / (1 - dropped / static_cast<double>(ids.size())));
}

// The first half of the components are sines, the second cosines.
void add_sinusoids(std::size_t position, std::span<float> row) {
  const std::size_t half = (row.size() + 1) / 2;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::size_t pair = i < half ? i : i - half;
    const double power = 2 * static_cast<double>(pair) / static_cast<double>(row.size());
    const double angle = static_cast<double>(position) / std::pow(10000.0, power);
    row[i] += static_cast<float>(i < half ? std::sin(angle) : std::cos(angle));
  }
}

// The same with wavelengths up to 10000 times the first one. A component that is left over is 0.
void add_closed_sinusoids(std::size_t position, std::span<float> row) {
  const std::size_t half = row.size() / 2;
  const double step = std::log(10000.0) / static_cast<double>(std::max<std::size_t>(half, 2) - 1);
  for (std::size_t i = 0; i < 2 * half; ++i) {
    const auto pair = static_cast<double>(i < half ? i : i - half);
    const double angle = static_cast<double>(position) * std::exp(-step * pair);
    row[i] += static_cast<float>(i < half ? std::sin(angle) : std::cos(angle));
  }
}

// Adds positions and token types, and normalizes the sum, or the tokens before.
void add_positions(const Model& model, const NetworkInput& in, std::span<const std::uint32_t> ids, MatrixSpan tokens) {
  const std::size_t d = tokens.columns();
  const std::optional<Norm> norm = load_norm(model.checkpoint(), in.norm);
  if (norm && in.norm_first) norm->apply(tokens.view(), tokens);
  std::vector<float> types(in.token_types != nullptr ? d : 0);
  if (in.token_types != nullptr) read_part(*in.token_types, 0, types);
  const std::vector<std::size_t> positions = position_rows(in, ids);
  parallel_for_rows(tokens.rows(), [&](std::size_t i) {
    std::vector<float> position(in.positions != nullptr ? d : 0);
    if (in.positions != nullptr) {
      read_part(*in.positions, positions[i] * d, position);
      add_scaled(position, {}, tokens.row(i));
    }
    const bool is_placed = in.padding != ids[i];
    if (in.sinusoids > 0 && is_placed) {
      (in.closed_sinusoids ? add_closed_sinusoids : add_sinusoids)(positions[i], tokens.row(i));
    }
    if (in.token_types != nullptr) add_scaled(types, {}, tokens.row(i));
  });
  if (norm && !in.norm_first) norm->apply(tokens.view(), tokens);
}

// Writes the tokens' rows of several tables, projected to the stream.
void embed_from_tables(const Model& model, const NetworkInput& in, std::span<const std::uint32_t> ids,
                       MatrixSpan stream) {
  std::size_t first = 0;
  for (const EmbeddingTable& table : in.tables) {
    const std::size_t count = table.rows->shape[0];
    const std::size_t width = table.rows->shape[1];
    std::vector<std::size_t> tokens;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= first && ids[i] < first + count) tokens.push_back(i);
    }
    Matrix rows(tokens.size(), width);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      read_part(*table.rows, (ids[tokens[i]] - first) * width, rows.row(i));
    }
    Matrix written(table.projection != nullptr ? tokens.size() : 0, stream.columns());
    if (table.projection != nullptr && !tokens.empty()) {
      Buffer<float> scratch;
      const std::span<const float> weights = read_weights(model.checkpoint(), *table.projection, scratch);
      const MatrixView projection(weights.data(), stream.columns(), width, width);
      parallel_multiply(rows.view(), projection.transposed(), written.span());
    }
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::span<const float> row = table.projection != nullptr ? written.row(i) : rows.row(i);
      for (std::size_t j = 0; j < row.size(); ++j) stream.row(tokens[i])[j] = row[j] * in.embedding_scale;
    }
    first += count;
  }
}

void embed_text(const Model& model, const NetworkInput& in, std::span<const std::uint32_t> ids, MatrixSpan stream) {
  if (!in.tables.empty()) {
    embed_from_tables(model, in, ids, stream);
    add_positions(model, in, ids, stream);
    return;
  }
  const std::size_t embedded = in.embedding->shape[1];
  Matrix tokens(in.project ? stream.rows() : 0, embedded);
  const float scale = in.embedding_scale * kept_scale(in, ids);
  parallel_for_rows(stream.rows(), [&](std::size_t i) {
    const std::span<float> row = in.project ? tokens.row(i) : stream.row(i);
    read_part(*in.embedding, ids[i] * embedded, row);
    for (float& value : row) value *= in.dropped_token == ids[i] ? 0 : scale;
  });
  if (in.narrow) add_positions(model, in, ids, in.project ? tokens.span() : stream);
  Buffer<float> scratch;
  if (in.project) apply_linear(model.checkpoint(), *in.project, tokens.view(), stream, scratch);
  if (!in.narrow) add_positions(model, in, ids, stream);
}

}  // namespace

TokenCounts input_tokens(const Network& network, const ModelInput& input, std::size_t index) {
  const NetworkInput& in = network.input;
  TokenCounts counts;
  if (network.target) {
    if (input.target.empty()) refuse(index, "the model has a decoder, but this input has no target");
    counts.target = text_tokens(*network.target, input.target, index);
  } else if (!input.target.empty()) {
    refuse(index, "the model has no decoder, but this input has a target");
  }
  if (!in.convolutions.empty()) {
    counts.source = audio_tokens(in, input.audio, index);
  } else if (in.embedding != nullptr) {
    if (!input.pixels.values.empty()) refuse(index, "the model takes tokens, but this input is an image");
    if (input.ids.empty()) refuse(index, "no tokens, expected at least one");
    counts.source = text_tokens(in, input.ids, index);
  } else {
    counts.source = image_tokens(in, input.pixels, index);
  }
  return counts;
}

void embed(const Model& model, const Network& network, const NetworkInput& in, const ModelInput& input,
           MatrixSpan stream) {
  const bool target = network.target && &in == &*network.target;
  if (!in.convolutions.empty()) {
    embed_audio(model, in, input.audio, stream);
    add_positions(model, in, std::vector<std::uint32_t>(stream.rows()), stream);
  } else if (in.embedding != nullptr) {
    embed_text(model, in, target ? input.target : input.ids, stream);
  } else {
    embed_image(model, in, input.pixels, stream);
    const auto norm = load_norm(model.checkpoint(), in.norm);
    if (norm && !in.norm_first) norm->apply(stream.view(), stream);
  }
}

}  // namespace headscope
