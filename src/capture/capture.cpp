#include "headscope/capture/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>

#include "headscope/base/error.h"
#include "headscope/capture/tokens_json.h"
#include "headscope/forward/patch_grid.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/image/thumbnail.h"
#include "headscope/model/network.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/capture.h"

namespace headscope {
namespace {

// Sums over the rows of one head's pattern in one input.
struct RowSums {
  std::size_t first_query = 0;
  std::size_t rows = 0;
  std::size_t with_previous = 0;
  double entropy = 0;
  double first = 0;
  double itself = 0;
  double previous = 0;
  double sink = 0;
};

// What a row lacks to 1: the share of the head's sink.
float sink_share(std::span<const float> row) {
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  return static_cast<float>(std::max(0.0, 1 - sum));
}

// `same_tokens`: queries and keys are the same.
RowSums sum_rows(const MapRows& rows, bool same_tokens) {
  RowSums sums;
  sums.first_query = rows.first_query;
  sums.rows = rows.values.rows();
  for (std::size_t i = 0; i < rows.values.rows(); ++i) {
    const std::size_t query = rows.first_query + i;
    const float* row = rows.values.data() + i * rows.values.row_stride();
    sums.entropy += entropy({row, rows.values.columns()});
    sums.first += static_cast<double>(row[0]);
    if (!same_tokens) continue;
    sums.itself += static_cast<double>(row[query]);
    if (query == 0) continue;
    sums.previous += static_cast<double>(row[query - 1]);
    ++sums.with_previous;
  }
  return sums;
}

class Capturer {
 public:
  Capturer(const Model& model, std::span<const DescribedInput> inputs, RunFolder& run, const CaptureOptions& options)
      : model_(model), inputs_(inputs), run_(run), options_(options), network_(resolve_network(model)) {
    if (inputs.empty()) throw Error(ErrorKind::kInvalidArgument, "no inputs to run the model on");
    choose_heads();
    std::vector<TokenCounts> tokens;
    for (const DescribedInput& input : inputs) tokens.push_back(token_counts(model, input.input));
    for (std::size_t i = 0; i < inputs.size(); ++i) describe(i, tokens[i]);
    check_disk();
    for (std::size_t i = 0; i < inputs.size(); ++i) begin_files(i);
  }

  CaptureResult run(const Context& context) {
    std::vector<ModelInput> plain;
    for (const DescribedInput& input : inputs_) plain.push_back(input.input);
    ForwardOptions pass;
    pass.wants_map = [this](std::size_t layer, std::size_t head) { return slot(layer, head) < result_.heads.size(); };
    if (options_.scores) pass.on_scores = [this](const MapRows& rows) { write(scores_, rows); };
    if (options_.pattern) {
      sums_.resize(inputs_.size() * result_.heads.size());
      pass.on_pattern = [this](const MapRows& rows) {
        write(patterns_, rows);
        RowSums sums = sum_rows(rows, block_of(rows.layer) != Block::kCross);
        if (has_sinks_) sums.sink = write_sinks(rows);
        const std::lock_guard lock(mutex_);
        sums_[rows.input * result_.heads.size() + slot(rows.layer, rows.head)].push_back(sums);
      };
    }
    if (options_.output) pass.on_output = [this](const OutputRows& rows) { keep_output(rows); };
    pass.first_query = options_.first_query;
    pass.end_query = options_.end_query;
    pass.end_layer = model_.info().sizes.layer_of(result_.heads.back()).value() + 1;
    pass.replacements = options_.replacements;
    run_forward(model_, plain, pass, context);
    sum_up();
    return std::move(result_);
  }

 private:
  void choose_heads() {
    const HeadSizes& sizes = model_.info().sizes;
    result_.heads = options_.heads;
    if (result_.heads.empty()) {
      for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
        for (std::size_t head = 0; head < sizes.heads; ++head) result_.heads.push_back(sizes.head_of(layer, head));
      }
    }
    if (std::ranges::adjacent_find(result_.heads, std::greater_equal{}) != result_.heads.end()) {
      throw Error(ErrorKind::kInvalidArgument, "heads to capture must be in ascending order, without duplicates");
    }
    slots_.assign(sizes.layers * sizes.heads, result_.heads.size());
    for (std::size_t i = 0; i < result_.heads.size(); ++i) {
      const HeadId& id = result_.heads[i];
      if (id.key_value || !sizes.layer_of(id)) {
        throw Error(ErrorKind::kInvalidArgument,
                    fmt::format("{} is not a query head of the model, which has {}", to_string(id), sizes.text()));
      }
      slots_[*sizes.layer_of(id) * sizes.heads + id.head] = i;
      if (blocks_.empty() || blocks_.back().block != id.block) blocks_.push_back({id.block, i, i});
      ++blocks_.back().end;
    }
  }

  [[nodiscard]] std::size_t slot(std::size_t layer, std::size_t head) const {
    return slots_[layer * model_.info().sizes.heads + head];
  }

  // The heads of one block, consecutive in the result.
  struct BlockHeads {
    Block block;
    std::size_t begin;
    std::size_t end;

    [[nodiscard]] std::size_t count() const { return end - begin; }
  };

  [[nodiscard]] Block block_of(std::size_t layer) const { return model_.info().sizes.place(layer).block; }
  // Index of a block's array among those of an input.
  [[nodiscard]] std::size_t array_of(std::size_t input, Block block) const {
    const auto found = std::ranges::find(blocks_, block, &BlockHeads::block);
    return input * blocks_.size() + static_cast<std::size_t>(found - blocks_.begin());
  }
  // Rows of the maps of an input that has this many tokens as queries.
  [[nodiscard]] std::size_t rows_of(std::size_t queries) const {
    const std::size_t last = std::min(options_.end_query, queries);
    return last - std::min(options_.first_query, last);
  }

  void describe(std::size_t i, TokenCounts tokens) {
    CapturedInput input;
    input.folder = input_folder(i);
    input.tokens = tokens;
    input.queries = rows_of(tokens.outputs());
    const std::size_t maps = (options_.pattern ? 1U : 0U) + (options_.scores ? 1U : 0U);
    for (const BlockHeads& heads : blocks_) {
      const std::size_t queries = tokens.queries(heads.block);
      if (rows_of(queries) == 0) {
        throw Error(ErrorKind::kInvalidArgument,
                    fmt::format("--queries selects none of the {} tokens of input {}", queries, i));
      }
      result_.bytes += maps * heads.count() * rows_of(queries) * tokens.keys(heads.block) *
                       static_cast<std::size_t>(options_.element);
    }
    if (options_.output) result_.bytes += output_rows(tokens.outputs()) * output_width() * sizeof(float);
    result_.inputs.push_back(input);
  }

  [[nodiscard]] std::size_t output_rows(std::size_t tokens) const {
    return network_.output.classifiers.empty() ? tokens : 1;
  }
  [[nodiscard]] std::size_t output_width() const {
    const NetworkOutput& out = network_.output;
    if (!out.classifiers.empty()) return out.classifiers.front().out();
    return out.unembedding ? out.unembedding->out() : model_.info().sizes.d_model;
  }
  [[nodiscard]] bool has_head() const {
    return network_.output.unembedding.has_value() || !network_.output.classifiers.empty();
  }

  void check_disk() const {
    if (run_.is_in_memory()) return;
    std::error_code error;
    const auto space = std::filesystem::space(run_.path(), error);
    if (error || space.available >= result_.bytes) return;
    throw Error(
        ErrorKind::kResource,
        fmt::format("{}: the maps need {} MB, but the disk has only {} MB left; choose fewer heads or queries, or "
                    "--dtype f16",
                    run_.path().string(), result_.bytes >> 20, space.available >> 20));
  }

  void begin_files(std::size_t i) {
    const CapturedInput& input = result_.inputs[i];
    for (const BlockHeads& heads : blocks_) begin_maps(i, heads);
    if (options_.output) {
      outputs_.push_back(add_array(has_head() ? run_files::kOutput : run_files::kHiddenState, i,
                                   {output_rows(input.tokens.outputs()), output_width()}, RunFloat::kF32));
    }
    for (const BlockHeads& heads : blocks_) describe_maps(i, heads);
    if (options_.thumbnail) add_thumbnail(i);
  }

  void begin_maps(std::size_t i, const BlockHeads& heads) {
    const TokenCounts& tokens = result_.inputs[i].tokens;
    const std::string_view name = to_string(heads.block);
    const Shape shape = {heads.count(), rows_of(tokens.queries(heads.block)), tokens.keys(heads.block)};
    if (options_.pattern) patterns_.push_back(add_array(run_files::kPattern, i, shape, options_.element, name));
    if (options_.pattern && has_sinks_) {
      sinks_.push_back(add_array(run_files::kSinks, i, {shape[0], shape[1]}, RunFloat::kF32, name));
    }
    if (options_.scores) scores_.push_back(add_array(run_files::kScores, i, shape, options_.element, name));
  }

  void describe_maps(std::size_t i, const BlockHeads& heads) {
    const TokenCounts& tokens = result_.inputs[i].tokens;
    MapsDescription maps{.heads = std::span<const HeadId>(result_.heads).subspan(heads.begin, heads.count()),
                         .first_query = options_.first_query,
                         .queries = rows_of(tokens.queries(heads.block)),
                         .block = heads.block};
    for (const NetworkLayer& layer : network_.layers) {
      if (layer.block != heads.block) continue;
      maps.causal = layer.causal && heads.block != Block::kCross;
      maps.windows.push_back(layer.window);
      maps.chunks.push_back(layer.chunk);
      maps.patch_windows.push_back(layer.patch_windows);
    }
    run_.add_text(describe_input(run_files::kTokens, i, {}, to_string(heads.block)), tokens_json(inputs_[i], maps));
  }

  void add_thumbnail(std::size_t i) {
    const Pixels& pixels = inputs_[i].input.pixels;
    if (pixels.values.empty()) return;
    if (!looked_for_preprocessing_) preprocessing_ = find_preprocessing(model_.checkpoint());
    looked_for_preprocessing_ = true;
    if (!preprocessing_) return;
    const PatchKernel kernel = patch_kernel(network_.input);
    const std::size_t height = kernel.height * network_.input.merged;
    const std::size_t width = kernel.width * network_.input.merged;
    const ImageSize covered{pixels.height / height * height, pixels.width / width * width};
    const Image image = make_thumbnail(pixels, covered, *preprocessing_);
    run_.add_array(describe_input(run_files::kThumbnail, i, {image.height, image.width, image.channels}),
                   std::span<const std::uint8_t>(image.levels));
  }

  // Pixels can be run without it; then there is no way to tell what they look like.
  static std::optional<Preprocessing> find_preprocessing(const Checkpoint& checkpoint) {
    try {
      return load_preprocessing(checkpoint);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  RunArray add_array(const FileSchema& file, std::size_t input, const Shape& shape, RunFloat element,
                     std::string_view block = {}) {
    return run_.add_array(describe_input(file, input, shape, block), element);
  }

  // Where the rows are in their block's array.
  [[nodiscard]] std::size_t first_row(const MapRows& rows) const {
    const Block block = block_of(rows.layer);
    const std::size_t queries = rows_of(result_.inputs[rows.input].tokens.queries(block));
    const std::size_t first = std::ranges::find(blocks_, block, &BlockHeads::block)->begin;
    return (slot(rows.layer, rows.head) - first) * queries + rows.first_query - options_.first_query;
  }

  void write(std::vector<RunArray>& arrays, const MapRows& rows) const {
    const std::size_t tokens = rows.values.columns();
    const std::size_t row = first_row(rows);
    RunArray& array = arrays[array_of(rows.input, block_of(rows.layer))];
    // Maps arrive as contiguous whole rows.
    const std::span<const float> values(rows.values.data(), rows.values.rows() * tokens);
    if (options_.element == RunFloat::kF32) {
      array.write(row * tokens, values);
      return;
    }
    std::vector<unsigned short> halves(values.size());
    to_half(values, halves);
    array.write(row * tokens, std::span<const unsigned short>(halves));
  }

  // Returns the sum of the shares.
  double write_sinks(const MapRows& rows) {
    std::vector<float> shares(rows.values.rows());
    for (std::size_t i = 0; i < shares.size(); ++i) {
      shares[i] = sink_share({rows.values.data() + i * rows.values.row_stride(), rows.values.columns()});
    }
    sinks_[array_of(rows.input, block_of(rows.layer))].write(first_row(rows), shares);
    return std::accumulate(shares.begin(), shares.end(), 0.0);
  }

  void keep_output(const OutputRows& rows) {
    const std::size_t width = rows.values.columns();
    // Outputs arrive as contiguous whole rows.
    const std::span<const float> values(rows.values.data(), rows.values.rows() * width);
    outputs_[rows.input].write(rows.first_row * width, values);
    const bool is_last = rows.first_row + rows.values.rows() == rows.rows;
    if (has_head() && is_last) result_.inputs[rows.input].likeliest = likeliest(values.last(width));
  }

  static std::vector<std::pair<std::size_t, double>> likeliest(std::span<const float> logits) {
    std::vector<std::size_t> order(logits.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t kept = std::min<std::size_t>(5, order.size());
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
        [&](std::size_t a, std::size_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
    double sum = 0;
    for (const float logit : logits)
      sum += std::exp(static_cast<double>(logit) - static_cast<double>(logits[order[0]]));
    std::vector<std::pair<std::size_t, double>> best;
    for (std::size_t i = 0; i < kept; ++i) {
      best.emplace_back(order[i],
                        std::exp(static_cast<double>(logits[order[i]]) - static_cast<double>(logits[order[0]])) / sum);
    }
    return best;
  }

  // Writes attention.csv. Partial sums come from several threads; they are added in the order of inputs and queries.
  void sum_up() {
    if (!options_.pattern) return;
    Table table = make_table(run_files::kAttention);
    for (std::size_t h = 0; h < result_.heads.size(); ++h) {
      RowSums all;
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        std::vector<RowSums>& parts = sums_[i * result_.heads.size() + h];
        std::ranges::sort(parts, {}, &RowSums::first_query);
        for (const RowSums& part : parts) {
          all.rows += part.rows;
          all.with_previous += part.with_previous;
          all.entropy += part.entropy;
          all.first += part.first;
          all.itself += part.itself;
          all.previous += part.previous;
          all.sink += part.sink;
        }
      }
      const auto rows = static_cast<double>(all.rows);
      const double pairs = static_cast<double>(std::max<std::size_t>(all.with_previous, 1));
      const HeadId id = result_.heads[h];
      result_.attention.push_back(
          {id, all.entropy / rows, all.first / rows, all.itself / rows, all.previous / pairs, all.sink / rows});
      const HeadAttention& one = result_.attention.back();
      const auto among_same = [&](double value) {
        return id.block == Block::kCross ? std::numeric_limits<double>::quiet_NaN() : value;
      };
      table.add_row({to_string(id), id.layer, id.head, one.entropy, one.first, among_same(one.itself),
                     among_same(one.previous), to_string(id.block)});
    }
    run_.add_table(run_files::kAttention, std::move(table));
  }

  const Model& model_;
  std::span<const DescribedInput> inputs_;
  RunFolder& run_;
  const CaptureOptions& options_;
  Network network_;
  std::vector<std::size_t> slots_;  // by layer * heads + head: index along the maps' first axis, or one past its end
  bool has_sinks_ =
      std::ranges::any_of(network_.layers, [](const NetworkLayer& layer) { return layer.sinks != nullptr; });
  bool looked_for_preprocessing_ = false;
  std::optional<Preprocessing> preprocessing_;
  std::vector<BlockHeads> blocks_;  // that have heads, in their order
  std::vector<RunArray> patterns_;  // by input and block
  std::vector<RunArray> scores_;
  std::vector<RunArray> sinks_;
  std::vector<RunArray> outputs_;
  std::vector<std::vector<RowSums>> sums_;  // by input and head
  std::mutex mutex_;
  CaptureResult result_;
};

}  // namespace

CaptureResult capture(const Model& model, std::span<const DescribedInput> inputs, RunFolder& run,
                      const CaptureOptions& options, const Context& context) {
  return Capturer(model, inputs, run, options).run(context);
}

}  // namespace headscope
