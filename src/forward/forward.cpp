#include "headscope/forward/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "forward/attention.h"
#include "forward/embed.h"
#include "forward/experts.h"
#include "forward/grid_bias.h"
#include "forward/latent.h"
#include "forward/memory_plan.h"
#include "forward/mixer.h"
#include "forward/output.h"
#include "forward/parallel_rows.h"
#include "forward/patch_grid.h"
#include "forward/relative_scores.h"
#include "forward/rotary_table.h"
#include "forward/token_inputs.h"
#include "forward/weights.h"
#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/io/decode.h"
#include "headscope/io/mapped_file.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/network.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// Larger batches do not make the matrix products faster.
constexpr std::size_t kBatchTokens = 4096;

// Approximate fractions of a layer's work that are done after the projections and after attention.
constexpr double kProjected = 0.2;
constexpr double kAttended = 0.5;

// One input of a batch: its index and the location of its rows in the stream.
struct Member {
  std::size_t input;
  std::size_t first;
  std::size_t tokens;
  PatchGrid grid;
};

// One input, and its tokens in each stack.
struct Input {
  std::size_t input;
  TokenCounts tokens;

  [[nodiscard]] std::size_t all() const { return tokens.source + tokens.target; }
};

// The rows of one input that are in the stream.
struct KeptRows {
  std::size_t at;     // in the stream
  std::size_t first;  // among the input's tokens
  std::size_t count;
};

class Pass {
 public:
  Pass(const Model& model, std::span<const ModelInput> inputs, const ForwardOptions& options, const Context& context)
      : model_(model),
        checkpoint_(model.checkpoint()),
        network_(resolve_network(model)),
        inputs_(inputs),
        options_(options),
        context_(context),
        sizes_(model.info().sizes),
        layers_(std::min(options.end_layer, sizes_.layers)) {
    const bool decodes = sizes_.has_blocks() && layers_ > sizes_.encoder_layers;  // then its layers are not in order
    if (options.on_output || decodes) layers_ = sizes_.layers;
    if (options.begin_layer > layers_ || (options.begin_layer > 0 && (!options.start || sizes_.has_blocks()))) {
      throw Error(ErrorKind::kInvalidArgument, fmt::format("a pass from layer {} to {} of {} has no start",
                                                           options.begin_layer, layers_, sizes_.layers));
    }
    replacements_.resize(sizes_.layers * sizes_.heads);
    for (const HeadReplacement& one : options.replacements) {
      if (one.layer >= sizes_.layers || one.head >= sizes_.heads ||
          one.value.size() != sizes_.width(one.layer, Role::kO)) {
        throw Error(ErrorKind::kInvalidArgument,
                    fmt::format("there is no head {} of width {} in layer {}", one.head, one.value.size(), one.layer));
      }
      replacements_[one.layer * sizes_.heads + one.head] = one.value;
    }
  }

  void run() {
    std::vector<Input> inputs;
    for (std::size_t i = 0; i < inputs_.size() * options_.copies; ++i) {
      inputs.push_back({i, input_tokens(network_, original(i), i % inputs_.size())});
      longest_ = std::max(longest_, inputs.back().all());
    }
    const std::vector<std::vector<Input>> batches = pack(inputs);
    steps_ = batches.size() * (layers_ - options_.begin_layer + (options_.on_output ? 1 : 0));
    for (const std::vector<Input>& batch : batches) run_batch(batch);
  }

 private:
  [[nodiscard]] const ModelInput& original(std::size_t copy) const { return inputs_[copy % inputs_.size()]; }

  // Groups inputs into batches that share each read of the weights: as many as fit.
  std::vector<std::vector<Input>> pack(const std::vector<Input>& inputs) {
    const std::size_t longest = longest_;
    const MemoryPlan plan = plan_memory(network_, sizes_, longest);
    const std::size_t block = plan.block(longest);
    const std::size_t needed = plan.needed(longest);
    require_memory(context_, needed, fmt::format("running {} tokens", longest));
    // Reserves a quarter for the blocks of maps, if that leaves room for the longest input.
    output_rows_ = output_rows(network_, longest, (context_.memory - needed) / 8);
    const std::size_t shared =
        output_memory(network_, output_rows_) - output_memory(network_, output_rows(network_, longest, 0));
    const std::size_t rest = context_.memory - plan.fixed - shared;
    const std::size_t blocks = std::max(block, context_.memory / 4);
    const std::size_t fitting = rest > blocks ? (rest - blocks) / plan.per_token : 0;
    const std::size_t room = std::clamp(fitting, longest, std::max(longest, kBatchTokens));
    max_blocks_ = (rest - room * plan.per_token) / block;
    std::vector<std::vector<Input>> batches;
    std::size_t used = room + 1;
    for (const Input& input : inputs) {
      if (used + input.all() > room) {
        batches.emplace_back();
        used = 0;
      }
      used += input.all();
      batches.back().push_back(input);
    }
    return batches;
  }

  [[nodiscard]] std::vector<Member> members_of(const std::vector<Input>& inputs,
                                               std::size_t TokenCounts::*tokens) const {
    std::vector<Member> members;
    std::size_t first = 0;
    for (const Input& one : inputs) {
      const PatchGrid grid = patch_grid(network_.input, original(one.input).pixels);
      members.push_back({one.input, first, one.tokens.*tokens, grid});
      first += one.tokens.*tokens;
    }
    return members;
  }

  void run_batch(const std::vector<Input>& inputs) {
    const std::vector<Member> batch = members_of(inputs, &TokenCounts::source);
    begin_stack(network_.input, network_.bias, network_.causal, batch);
    if (!network_.target) {
      for (std::size_t i = options_.begin_layer; i < layers_; ++i) {
        if (i == 0 || i > options_.begin_layer) run_mixers(i, batch);
        run_step(i, batch);
      }
      if (layers_ == sizes_.layers) run_mixers(layers_, batch);
      write(batch);
      return;
    }
    for (std::size_t i = 0; i < std::min(layers_, sizes_.encoder_layers); ++i) run_step(i, batch);
    if (layers_ <= sizes_.encoder_layers) return;
    if (const auto norm = load_norm(checkpoint_, network_.memory_norm)) norm->apply(stream_.view(), stream_.span());
    memory_ = std::move(stream_);
    memory_members_ = batch;
    const std::vector<Member> targets = members_of(inputs, &TokenCounts::target);
    begin_stack(*network_.target, network_.target_bias, /*causal=*/true, targets);
    for (std::size_t i = 0; i < sizes_.decoder_layers; ++i) {
      for (const Block block : {Block::kDecoder, Block::kCross}) {
        run_step(sizes_.layer_of(BlockLayer{block, i}).value(), targets);
      }
    }
    write(targets);
    memory_ = {};
  }

  // Embeds the tokens of a stack.
  void begin_stack(const NetworkInput& in, const ScoreBias& bias, bool causal, const std::vector<Member>& batch) {
    const std::size_t tokens = batch.back().first + batch.back().tokens;
    const std::size_t d = sizes_.d_model;
    stream_ = Matrix(tokens, d);
    read_ = Matrix(tokens, d);
    written_ = Matrix(tokens, d);
    heads_ = Matrix(tokens, sizes_.heads * sizes_.d_head);
    tables_.clear();
    local_tables_.clear();
    grid_tables_.clear();
    kept_.clear();
    biases_.clear();
    for (const Member& member : batch) {
      kept_.push_back({member.first, 0, member.tokens});
      if (options_.start) {
        options_.start(member.input, rows(stream_, member));
      } else {
        embed(model_, network_, in, original(member.input), rows(stream_, member));
      }
      if (network_.rotary.grid != RotaryGrid::kNone) {
        const std::size_t before = member.tokens - member.grid.size();
        grid_tables_.try_emplace(member.grid, RotaryTable(network_.rotary, member.grid, before));
      } else if (!tables_.contains(member.tokens)) {
        tables_.emplace(member.tokens, RotaryTable(network_.rotary, member.tokens));
        local_tables_.emplace(member.tokens, RotaryTable(network_.local_rotary, member.tokens));
        if (!bias.empty()) biases_.emplace(member.tokens, BiasTable(model_, bias, causal, member.tokens));
      }
    }
    check_embedding(in);
    kept_keys_.clear();
    if (in.token_inputs != nullptr) embed_inputs(in, batch);
  }

  void run_step(std::size_t layer, const std::vector<Member>& batch) {
    run_layer(layer, batch);
    step();
  }

  void write(const std::vector<Member>& batch) {
    if (!options_.on_output) return;
    std::vector<OutputPart> parts;
    for (std::size_t k = 0; k < batch.size(); ++k) {
      const KeptRows& kept = kept_[k];
      parts.push_back({.input = batch[k].input,
                       .stream = stream_.span().block(kept.at, kept.count, 0, stream_.columns()),
                       .first = kept.first,
                       .rows = batch[k].tokens});
    }
    write_output(model_, network_, parts, options_, output_rows_, scratch_, [&] { report(0); });
    step();
  }

  static MatrixSpan rows(Matrix& matrix, const Member& member) {
    return matrix.span().block(member.first, member.tokens, 0, matrix.columns());
  }

  void step() {
    ++done_;
    report(0);
  }

  // Also called inside a step, which may take seconds, with the fraction of it that is done.
  void report(double part) const { context_.report((static_cast<double>(done_) + part) / static_cast<double>(steps_)); }

  // The only block implementation: every family's block is this one with some parts omitted.
  void run_layer(std::size_t index, const std::vector<Member>& batch) {
    const NetworkLayer& layer = network_.layers[index];
    const auto norm = load_norm(checkpoint_, layer.norm);
    const auto mlp_norm = load_norm(checkpoint_, layer.mlp_norm);
    const auto after_attention = load_norm(checkpoint_, layer.norm_after_attention);
    const auto after_mlp = load_norm(checkpoint_, layer.norm_after_mlp);
    const bool post = network_.order == NormOrder::kPost;
    if (options_.on_stream) {
      for (const Member& member : batch) options_.on_stream({member.input, index, rows(stream_, member).view()});
    }

    read_stream(norm);
    attention(index, layer, norm, batch);
    if (network_.parallel) {
      // The MLP reads the input of the block, so its output is added last.
      Matrix attended = std::move(written_);
      written_ = Matrix(stream_.rows(), stream_.columns());
      if (mlp_norm) read_stream(mlp_norm);
      mlp(layer);
      add_branch(attended, layer.attention_scale, after_attention, post);
      report_norm(index, /*after_mlp=*/false, batch);
    } else {
      add_branch(written_, layer.attention_scale, after_attention, post);
      report_norm(index, /*after_mlp=*/false, batch);
      if (layer.has_mlp) {
        read_stream(mlp_norm);
        mlp(layer);
      }
    }
    if (layer.has_mlp) {
      add_branch(written_, layer.mlp_scale, after_mlp, post);
      report_norm(index, /*after_mlp=*/true, batch);
    }
    finish_block(index, layer, batch);
    check_layer(index, layer);
    if (releases_pages()) {
      for (const StoredTensor* tensor : tensors_of(layer)) checkpoint_.release(*tensor);
    }
  }

  // The tokens' inputs for every layer.
  void embed_inputs(const NetworkInput& in, const std::vector<Member>& batch) {
    token_inputs_ = Matrix(stream_.rows(), in.token_inputs->shape[1]);
    for (const Member& member : batch) {
      const Matrix own = token_inputs(model_, in, original(member.input).ids, rows(stream_, member).view(), scratch_);
      std::ranges::copy(own.values(), token_inputs_.row(member.first).begin());
    }
  }

  // What follows the MLP in Gemma 4.
  void finish_block(std::size_t index, const NetworkLayer& layer, const std::vector<Member>& batch) {
    if (layer.token_input) {
      const std::size_t width = layer.token_input->gate.out();
      Matrix inputs(stream_.rows(), width);
      for (std::size_t k = 0; k < batch.size(); ++k) {
        for (std::size_t t = 0; t < kept_[k].count; ++t) {
          const auto row = token_inputs_.row(batch[k].first + kept_[k].first + t).subspan(index * width, width);
          std::ranges::copy(row, inputs.row(kept_[k].at + t).begin());
        }
      }
      add_token_input(checkpoint_, *layer.token_input, network_.activation, inputs.view(), stream_.span(), scratch_);
    }
    if (layer.block_scale == nullptr) return;
    const float factor = read_vector(checkpoint_, *layer.block_scale).front();
    for (float& value : stream_.values()) value *= factor;
  }

  // The layers of a hybrid that have no attention and come before that layer.
  void run_mixers(std::size_t before, const std::vector<Member>& batch) {
    for (const MixerLayer& mixer : network_.mixers) {
      if (mixer.before != before) continue;
      read_stream(load_norm(checkpoint_, mixer.block.norm));
      for (const Member& member : batch) {
        apply_mixer(checkpoint_, mixer, rows(read_, member).view(), rows(written_, member), scratch_);
      }
      add_branch(written_, nullptr, std::nullopt, /*post=*/false);
      read_stream(load_norm(checkpoint_, mixer.block.mlp_norm));
      mlp(mixer.block);
      add_branch(written_, nullptr, std::nullopt, /*post=*/false);
      check_finite(tensors_of(mixer), fmt::format("what precedes layer {}", before));
      if (!releases_pages()) continue;
      for (const StoredTensor* tensor : tensors_of(mixer)) checkpoint_.release(*tensor);
    }
  }

  // Computes a branch's input: the stream, normalized if the branch has a norm.
  void read_stream(const std::optional<Norm>& norm) {
    if (norm) {
      norm->apply(stream_.view(), read_.span());
    } else {
      std::ranges::copy(stream_.values(), read_.values().begin());
    }
  }

  // Adds a branch's output to the stream. Pre-norm models normalize the branch, post-norm models the sum.
  void add_branch(Matrix& branch, const StoredTensor* scale, const std::optional<Norm>& norm, bool post) {
    std::vector<float> factors;
    if (scale != nullptr) factors = read_vector(checkpoint_, *scale);
    norm_factors_.assign(norm && options_.on_norm ? stream_.rows() : 0, 0.0F);
    parallel_for_rows(stream_.rows(), [&](std::size_t i) {
      const auto apply = [&](std::span<float> row) {
        if (!norm_factors_.empty()) norm_factors_[i] = norm->factor(row);
        norm->apply_row(row, row);
      };
      if (norm && !post) apply(branch.row(i));
      if (network_.branch_factor != 1) {
        for (float& value : branch.row(i)) value *= network_.branch_factor;
      }
      add_scaled(branch.row(i), factors, stream_.row(i));
      if (norm && post) apply(stream_.row(i));
    });
  }

  void report_norm(std::size_t index, bool after_mlp, const std::vector<Member>& batch) const {
    if (norm_factors_.empty()) return;
    for (const Member& member : batch) {
      options_.on_norm({member.input, index, after_mlp, std::span(norm_factors_).subspan(member.first, member.tokens)});
    }
  }

  void attention(std::size_t index, const NetworkLayer& layer, const std::optional<Norm>& norm,
                 const std::vector<Member>& batch) {
    const std::size_t width = sizes_.heads * sizes_.width(index, Role::kO);
    if (heads_.columns() != width) heads_ = Matrix(stream_.rows(), width);
    std::vector<const StoredLinear*> distinct = projections(layer);
    std::vector<Matrix> projected;
    std::array<HeadColumns, 3> columns;
    const bool cross = layer.block == Block::kCross;
    if (layer.latent) {
      LatentHeads latent = project_latent(checkpoint_, layer, sizes_, read_.view(), scratch_);
      projected = std::move(latent.held);
      columns = latent.columns;
      distinct.clear();
    }
    for (const StoredLinear* linear : distinct) {
      const Matrix& source = cross && linear != &layer.linear[0] ? memory_ : read_;
      Matrix& result = projected.emplace_back(source.rows(), linear->out());
      apply_linear(checkpoint_, *linear, source.view(), result.span(), scratch_);
      for (std::size_t r = 0; r < 3; ++r) {
        if (layer.linear[r].weight != linear->weight) continue;
        columns[r] = {result.values().data(), result.columns(), layer.slices[r]};
      }
      report(kProjected);
    }
    share_keys(index, layer, projected, columns);
    if (options_.edits && index == options_.begin_layer) edit_reads(layer, norm, columns, batch);
    std::vector<float> sinks;
    if (layer.sinks != nullptr) sinks = read_vector(checkpoint_, *layer.sinks);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Member& member = batch[i];
      const Member& keys = cross ? memory_members_[i] : member;
      std::array<HeadColumns, 3> own = columns;
      own[0].data += member.first * own[0].row_stride;
      for (HeadColumns& one : std::span(own).subspan(1)) one.data += keys.first * one.row_stride;
      place(index, layer, own, member, keys.tokens);
      AttentionTask one = task(index, layer, own, member, keys.tokens);
      one.sinks = sinks;
      std::optional<RelativeScores> relative;
      if (!network_.relative.empty()) relative.emplace(model_, network_, layer, member.tokens, scratch_);
      if (relative) one.relative = &*relative;
      std::optional<GridBias> grid_bias;
      if (layer.grid_bias != nullptr) grid_bias.emplace(model_, *layer.grid_bias, member.grid);
      if (grid_bias) one.grid_bias = &*grid_bias;
      attend(one);
      if (layer.gated_output) gate_outputs(index, own[0], member);
      if (options_.on_heads) options_.on_heads({member.input, index, rows(heads_, member).view()});
      report(kAttended);
    }
    keep_keys(index, projected, columns);
    projected.clear();
    if (index + 1 == sizes_.layers) keep_requested_rows(batch);
    apply_linear(checkpoint_, layer.linear[3], heads_.view(), written_.span(), scratch_);
  }

  // Multiplies the heads' outputs by their gates, which follow the queries.
  void gate_outputs(std::size_t index, const HeadColumns& queries, const Member& member) {
    const std::size_t width = sizes_.width(index, Role::kO);
    parallel_for_rows(member.tokens, [&](std::size_t t) {
      for (std::size_t a = 0; a < sizes_.heads; ++a) {
        if (!replacements_[index * sizes_.heads + a].empty()) continue;  // its mean output is gated already
        const float* gate = queries.at(t, a) + width;
        const std::span<float> out = heads_.row(member.first + t).subspan(a * width, width);
        for (std::size_t j = 0; j < width; ++j) out[j] /= 1 + std::exp(-gate[j]);
      }
    });
  }

  // Whether a later layer uses the keys and values of this one.
  [[nodiscard]] bool lends_keys(std::size_t index) const {
    for (std::size_t later = index + 1; later < sizes_.layers; ++later) {
      if (sizes_.kv_layer(later) == index) return true;
    }
    return false;
  }

  // Finds the keys and values of a layer that uses another's. Values that are keys get memory of their own, since keys
  // are normalized and rotated in place.
  void share_keys(std::size_t index, const NetworkLayer& layer, std::vector<Matrix>& projected,
                  std::array<HeadColumns, 3>& columns) {
    if (!layer.own_keys) {
      const auto found = kept_keys_.find(sizes_.kv_layer(index));
      if (found == kept_keys_.end()) {
        throw Error(ErrorKind::kInvalidArgument, fmt::format("a pass from layer {} lacks the keys of layer {}",
                                                             options_.begin_layer, sizes_.kv_layer(index)));
      }
      columns[1] = found->second.columns[1];
      columns[2] = found->second.columns[2];
      return;
    }
    if (columns[2].data != columns[1].data || columns[2].slice.first != columns[1].slice.first) return;
    projected.reserve(projected.size() + 1);
    for (Matrix& matrix : projected) {
      if (matrix.values().data() != columns[1].data) continue;
      columns[2].data = projected.emplace_back(matrix).values().data();
      return;
    }
  }

  void keep_keys(std::size_t index, std::vector<Matrix>& projected, const std::array<HeadColumns, 3>& columns) {
    if (lends_keys(index)) kept_keys_[index] = {std::move(projected), columns};
  }

  // Removes the rows that no output needs: after the last attention no token reads from another one.
  void keep_requested_rows(const std::vector<Member>& batch) {
    if (!network_.mixers.empty() && network_.mixers.back().before == sizes_.layers) return;  // it mixes tokens
    if (!options_.on_output || options_.on_norm || !network_.output.classifiers.empty()) return;
    std::vector<KeptRows> kept;
    std::size_t count = 0;
    for (const Member& member : batch) {
      const std::size_t first = std::min(options_.first_output, member.tokens);
      const std::size_t end = std::clamp(options_.end_output, first, member.tokens);
      kept.push_back({count, first, end - first});
      count += end - first;
    }
    if (count == 0 || count == stream_.rows()) return;
    written_ = Matrix(count, written_.columns());
    for (Matrix* matrix : {&stream_, &read_, &heads_}) {
      Matrix rest(count, matrix->columns());
      for (std::size_t k = 0; k < batch.size(); ++k) {
        for (std::size_t t = 0; t < kept[k].count; ++t) {
          std::ranges::copy(matrix->row(batch[k].first + kept[k].first + t), rest.row(kept[k].at + t).begin());
        }
      }
      *matrix = std::move(rest);
    }
    kept_ = std::move(kept);
  }

  // Computes the columns of edited heads again, from what they read now.
  void edit_reads(const NetworkLayer& layer, const std::optional<Norm>& norm, const std::array<HeadColumns, 3>& columns,
                  const std::vector<Member>& batch) const {
    std::vector<std::pair<const Member*, ReadEdit>> edits;
    for (const Member& member : batch) {
      for (const ReadEdit& edit : options_.edits(member.input)) {
        check_edit(edit, member);
        edits.emplace_back(&member, edit);
      }
    }
    std::array<Buffer<float>, 3> scratch;
    std::array<std::optional<MatrixView>, 3> weights;
    std::array<std::vector<float>, 3> biases;
    for (std::size_t r = 0; r < 3; ++r) {
      const auto is_used = [&](const auto& one) { return static_cast<std::size_t>(one.second.role) == r; };
      if (std::ranges::none_of(edits, is_used)) continue;
      weights[r] = linear_weights(checkpoint_, layer.linear[r], scratch[r]);
      if (layer.linear[r].bias != nullptr) biases[r] = read_vector(checkpoint_, *layer.linear[r].bias);
    }
    parallel_for(edits.size(), [&](std::size_t i) {
      const auto& [member, edit] = edits[i];
      const auto r = static_cast<std::size_t>(edit.role);
      const std::size_t d = stream_.columns();
      Matrix changed(member->tokens, d);
      for (std::size_t t = 0; t < member->tokens; ++t) {
        const std::span<float> row = changed.row(t);
        const std::span<const float> stream = stream_.row(member->first + t);
        for (std::size_t j = 0; j < d; ++j) row[j] = stream[j] + edit.change(t, j);
        if (norm) norm->apply_row(row, row);
      }
      const std::size_t first = layer.slices[r].first_of(edit.head);
      const MatrixSpan out(columns[r].at(member->first, edit.head), member->tokens, sizes_.d_head,
                           columns[r].row_stride);
      if (!biases[r].empty()) {
        const std::span<const float> bias = std::span(biases[r]).subspan(first, sizes_.d_head);
        for (std::size_t t = 0; t < member->tokens; ++t) std::ranges::copy(bias, out.row(t).begin());
      }
      multiply(changed.view(), weights[r]->block(0, d, first, sizes_.d_head), out, 1, biases[r].empty() ? 0 : 1);
    });
  }

  void check_edit(const ReadEdit& edit, const Member& member) const {
    const std::size_t heads = edit.role == Role::kQ ? sizes_.heads : sizes_.kv_heads;
    if (edit.role != Role::kO && edit.head < heads && edit.change.rows() == member.tokens &&
        edit.change.columns() == sizes_.d_model) {
      return;
    }
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("an edit of head {} changes {} rows of {}, expected {} of {}", edit.head,
                            edit.change.rows(), edit.change.columns(), member.tokens, sizes_.d_model));
  }

  // Applies norms and rotary positions to queries and keys, norms to values, and clips them all. Tokens of two stacks
  // have no positions relative to each other.
  void place(std::size_t index, const NetworkLayer& layer, const std::array<HeadColumns, 3>& columns,
             const Member& member, std::size_t keys) const {
    static const RotaryTable kNone;
    const RotaryTable& table = !layer.rotary || layer.block == Block::kCross ? kNone
                               : network_.rotary.grid != RotaryGrid::kNone   ? grid_tables_.at(member.grid)
                               : layer.local_rotary                          ? local_tables_.at(member.tokens)
                                                                             : tables_.at(member.tokens);
    const std::array<std::optional<Norm>, 3> norms = {load_norm(checkpoint_, layer.q_norm),
                                                      load_norm(checkpoint_, layer.k_norm),
                                                      load_norm(checkpoint_, layer.v_norm)};
    const std::array<std::size_t, 2> heads = {sizes_.heads, sizes_.heads_of(index, Role::kK)};  // 0: already placed
    const bool grows = layer.growing_queries && network_.query_growth > 0;
    if (!norms[0] && !norms[1] && !norms[2] && table.empty() && !grows && network_.clip <= 0) return;
    const std::size_t width = sizes_.width(index, Role::kQ);
    const std::size_t value_width = sizes_.width(index, Role::kV);
    parallel_for_rows(std::max(member.tokens, keys), [&](std::size_t t) {
      for (std::size_t a = 0; t < keys && a < heads[1]; ++a) {
        const std::span<float> value(columns[2].at(t, a), value_width);
        clip(value);
        if (norms[2]) norms[2]->apply_row(value, value);
      }
      for (std::size_t r = 0; r < 2; ++r) {
        if (t >= (r == 0 ? member.tokens : keys)) continue;
        // The heads of such a family are next to each other.
        if (norms[r] && network_.joint_head_norms && heads[r] > 0) {
          const std::span<float> all(columns[r].at(t, 0), heads[r] * width);
          norms[r]->apply_row(all, all);
        }
        for (std::size_t a = 0; a < heads[r]; ++a) {
          float* head = columns[r].at(t, a);
          const std::span<float> components(head, width);
          if (norms[r] && !network_.joint_head_norms) norms[r]->apply_head(a, components);
          clip(components);
          table.rotate(t, head);
          if (r == 0 && grows) grow_query(network_, t, components);
        }
      }
    });
  }

  void clip(std::span<float> values) const {
    if (network_.clip <= 0) return;
    for (float& value : values) value = std::clamp(value, -network_.clip, network_.clip);
  }

  AttentionTask task(std::size_t index, const NetworkLayer& layer, const std::array<HeadColumns, 3>& columns,
                     const Member& member, std::size_t keys) {
    const bool biased = !biases_.empty() && layer.block != Block::kCross;
    AttentionTask task{.q = columns[0],
                       .k = columns[1],
                       .v = columns[2],
                       .out = rows(heads_, member),
                       .keys = keys,
                       .heads = sizes_.heads,
                       .kv_heads = sizes_.heads_of(sizes_.kv_layer(index), Role::kK),
                       .d_key = sizes_.width(index, Role::kQ),
                       .d_value = sizes_.width(index, Role::kV),
                       .scale = layer.score_scale,
                       .cap = network_.score_cap,
                       .causal = layer.causal,
                       .window = layer.window,
                       .chunk = layer.chunk,
                       .sinks = {},
                       .relative = nullptr,
                       .grid_bias = nullptr,
                       .bias = biased ? &biases_.at(member.tokens) : nullptr,
                       .replacements = std::span(replacements_).subspan(index * sizes_.heads, sizes_.heads),
                       .wanted = {},
                       .first_query = std::min(options_.first_query, member.tokens),
                       .end_query = std::min(options_.end_query, member.tokens),
                       .max_blocks = max_blocks_,
                       .on_scores = {},
                       .on_pattern = {}};
    const bool asked = static_cast<bool>(options_.on_scores) || static_cast<bool>(options_.on_pattern);
    for (std::size_t a = 0; a < sizes_.heads; ++a) {
      task.wanted.push_back(asked && (!options_.wants_map || options_.wants_map(index, a)));
    }
    const auto receiver = [&](const std::function<void(const MapRows&)>& to) {
      std::function<void(std::size_t, std::size_t, MatrixView)> pass;
      if (to) {
        pass = [&to, index, input = member.input](std::size_t head, std::size_t query, MatrixView values) {
          to({input, index, head, query, values});
        };
      }
      return pass;
    };
    task.on_scores = receiver(options_.on_scores);
    task.on_pattern = receiver(options_.on_pattern);
    return task;
  }

  void mlp(const NetworkLayer& layer) {
    if (layer.experts) {
      const ExpertRun run{
          .activation = network_.activation, .release = releases_pages(), .poll = [&] { report(kAttended); }};
      run_experts(checkpoint_, *layer.experts, run, read_.view(), written_.span(), scratch_);
      return;
    }
    const std::size_t inner = layer.down.in();
    for (std::size_t first = 0; first < stream_.rows(); first += kMlpRows) {
      const std::size_t count = std::min(kMlpRows, stream_.rows() - first);
      const MatrixView x = read_.view().block(first, count, 0, read_.columns());
      Matrix up(count, layer.up.out());
      apply_linear(checkpoint_, layer.up, x, up.span(), scratch_);
      Matrix gate(layer.gate ? count : 0, layer.gate ? inner : 0);
      if (layer.gate) apply_linear(checkpoint_, *layer.gate, x, gate.span(), scratch_);
      parallel_for_rows(count, [&](std::size_t i) {
        const std::span<float> row = up.row(i);
        if (layer.gate) {
          activate_gate(network_.activation, gate.row(i), row);
        } else if (layer.gate_in_up) {
          activate_gate(gate_activation(), row.first(inner), row.subspan(inner));
        } else {
          activate(network_.activation, row);
        }
      });
      const MatrixView hidden = up.view().block(0, count, up.columns() - inner, inner);
      apply_linear(checkpoint_, layer.down, hidden, written_.span().block(first, count, 0, written_.columns()),
                   scratch_);
      report(kAttended);
    }
  }

  // DINOv2's gated MLP is SwiGLU, whatever activation its configuration names for the plain MLP.
  [[nodiscard]] Activation gate_activation() const {
    return network_.input.embedding == nullptr ? Activation::kSilu : network_.activation;
  }

  // Bad weights are more likely than overflow, but they are searched only after something went wrong.
  void check_finite(const std::vector<const StoredTensor*>& tensors, const std::string& after) const {
    if (!find_non_finite(stream_.values())) return;
    for (const StoredTensor* tensor : tensors) {
      if (tensor != nullptr) reject_non_finite(checkpoint_, *tensor);
    }
    throw Error(ErrorKind::kNumeric,
                fmt::format("{}: activations are NaN or infinite after {}", checkpoint_.path().string(), after));
  }

  void check_embedding(const NetworkInput& in) const {
    const StoredTensor* project = in.project ? in.project->weight : nullptr;
    check_finite({in.embedding, in.positions, in.token_types, project, in.patches.weight}, "the embedding");
  }

  void check_layer(std::size_t index, const NetworkLayer& layer) const {
    check_finite(tensors_of(layer), fmt::format("layer {}", index));
  }

  // Mapped weights count as this process's memory until they are released.
  [[nodiscard]] bool releases_pages() const {
    std::size_t bytes = 0;
    for (const StoredTensor* tensor : checkpoint_.tensors()) bytes += bytes_of(*tensor);
    return bytes > context_.memory / 4;
  }

  const Model& model_;
  const Checkpoint& checkpoint_;
  Network network_;
  std::span<const ModelInput> inputs_;
  const ForwardOptions& options_;
  const Context& context_;
  const HeadSizes& sizes_;
  std::size_t layers_;
  std::vector<std::vector<float>> replacements_;  // by layer * heads + head; empty if not replaced
  std::size_t max_blocks_ = 1;                    // maximum number of blocks of maps held at a time
  std::size_t longest_ = 1;                       // tokens of the longest input
  std::size_t output_rows_ = 1;                   // that share a product with the unembedding
  std::size_t steps_ = 0;
  std::size_t done_ = 0;

  Matrix stream_;
  Matrix memory_;                       // output of the encoder ...
  std::vector<Member> memory_members_;  // ... and the rows of each input in it
  Matrix read_;                         // input of a branch
  Matrix written_;                      // output of a branch
  Matrix heads_;
  std::vector<KeptRows> kept_;       // by member of the batch
  std::vector<float> norm_factors_;  // of the last norm after a branch, by row; empty if nobody asked
  Buffer<float> scratch_;
  std::map<std::size_t, RotaryTable> tables_;  // by number of tokens, since some scalings depend on it
  std::map<std::size_t, RotaryTable> local_tables_;
  std::map<PatchGrid, RotaryTable> grid_tables_;
  std::map<std::size_t, BiasTable> biases_;

  struct KeptKeys {
    std::vector<Matrix> held;
    std::array<HeadColumns, 3> columns;
  };
  std::map<std::size_t, KeptKeys> kept_keys_;  // by layer: keys and values that later layers use
  Matrix token_inputs_;                        // one row per token of the batch, layers one after another
};

}  // namespace

void run_forward(const Model& model, std::span<const ModelInput> inputs, const ForwardOptions& options,
                 const Context& context) {
  Pass(model, inputs, options, context).run();
}

std::size_t token_count(const Model& model, const ModelInput& input) {
  const TokenCounts counts = token_counts(model, input);
  return counts.source + counts.target;
}

TokenCounts token_counts(const Model& model, const ModelInput& input) {
  return input_tokens(resolve_network(model), input, 0);
}

std::size_t forward_memory(const Model& model, std::size_t longest) {
  return plan_memory(resolve_network(model), model.info().sizes, longest).needed(longest);
}

}  // namespace headscope
