#include "headscope/patch/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "headscope/base/buffer.h"
#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/base/message.h"
#include "headscope/base/parallel.h"
#include "headscope/forward/layer_attention.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/model/layer_order.h"
#include "headscope/patch/patch_edge.h"
#include "patch/screen_target.h"
#include "patch/target_reads.h"

namespace headscope {
namespace {

// Rows of stacked changes per call: what the products need to be fast, and little enough for the cache.
constexpr std::size_t kStackedRows = 768;

std::size_t sources_at_once(std::size_t tokens, const HeadSizes& sizes) {
  return std::clamp<std::size_t>(kStackedRows / tokens, 1, sizes.heads);
}

class Screening {
 public:
  Screening(const RecordedPass& record, const HeadChange& change, std::span<const Role> roles, const Context& context,
            FinishedWork* finished)
      : record_(record),
        change_(change),
        roles_(roles),
        context_(context),
        finished_(finished),
        sizes_(record.model().info().sizes) {
    for (const Role role : roles) {
      if (role == Role::kO) throw Error(ErrorKind::kInvalidArgument, "O writes: only Q, K and V can be screened");
      screens_.push_back({role, Matrix(sizes_.layers * sizes_.heads, targets_before(sizes_.layers, role, sizes_))});
    }
    require_memory(context, screen_memory(record.model(), record.inputs(), roles), "screening all pairs of heads");
  }

  std::vector<Screen> run() {
    for (std::size_t layer = 0; layer < sizes_.layers; ++layer) {
      for (const LayerReading& one : readings_of(roles_, sizes_, layer)) all_ += one.sources.size();
    }
    for (std::size_t layer = 0; layer < sizes_.layers; ++layer) {
      const std::vector<LayerReading> readings = readings_of(roles_, sizes_, layer);
      if (readings.empty()) continue;
      if (restore(layer)) {
        for (const LayerReading& one : readings) done_ += one.sources.size();
        continue;
      }
      const ScreenTarget target(record_, change_, layer);
      for (const LayerReading& one : readings) screen_reading(one, target);
      keep(layer);
    }
    return std::move(screens_);
  }

 private:
  [[nodiscard]] static std::string id(std::size_t layer) { return fmt::format("screen {}", layer); }
  // Calls `each` with the rows of all heads before a layer's targets, in the columns of these.
  void for_each_row(std::size_t layer, const std::function<void(std::span<float>)>& each) {
    for (Screen& one : screens_) {
      const std::size_t first = targets_before(layer, one.role, sizes_);
      const std::size_t targets = sizes_.heads_of(layer, one.role);
      const StepRange steps = steps_before(sizes_, layer, one.role);
      for (std::size_t step = steps.begin; step < steps.end; ++step) {
        for (std::size_t head = 0; head < sizes_.heads; ++head) {
          const std::size_t row = layer_at(sizes_, step) * sizes_.heads + head;
          each(one.values.row(row).subspan(first, targets));
        }
      }
    }
  }
  bool restore(std::size_t layer) {
    const auto found = finished_ == nullptr ? std::nullopt : finished_->find(id(layer));
    std::size_t values = 0;
    for_each_row(layer, [&](std::span<float> row) { values += row.size(); });
    if (!found || found->size() != values * sizeof(float)) return false;
    MessageReader message(*found);
    for_each_row(layer, [&](std::span<float> row) { message.take_all(row); });
    return true;
  }
  void keep(std::size_t layer) {
    if (finished_ == nullptr) return;
    MessageWriter message;
    for_each_row(layer, [&](std::span<const float> row) { message.put_all(row); });
    finished_->keep(id(layer), message.bytes());
  }

  void screen_reading(const LayerReading& reading, const ScreenTarget& target) {
    TargetReads reads(record_.model(), reading.layer, reading.roles, target.attention());
    Matrix carried = reads.take_of_stream();
    Matrix blocks;
    HeadWeights writes;
    for (std::size_t step = reading.sources.end; step-- > reading.sources.begin;) {
      const std::size_t source = layer_at(sizes_, step);
      change_.carry_back(source, carried);
      writes = change_.load_writes(source, std::move(writes));
      // The columns of consecutive heads are contiguous.
      const MatrixView stacked(writes.columns(0).data(), writes.heads() * writes.d_head(), sizes_.d_model,
                               sizes_.d_model);
      if (blocks.rows() != stacked.rows()) blocks = Matrix(stacked.rows(), reads.columns());
      reads.multiply(stacked, carried.view(), blocks.span());
      screen_pair(source, reading, target, blocks);
      context_.report(static_cast<double>(++done_) / static_cast<double>(all_));
    }
  }

  // The changes of the outputs of all heads of a layer, by head and input, with the factors of all norms on their way.
  [[nodiscard]] std::vector<Matrix> changes_of(std::size_t source, const LayerReading& reading,
                                               const ScreenTarget& target) const {
    const std::size_t inputs = record_.inputs().size();
    std::vector<Matrix> changes(sizes_.heads * inputs);
    parallel_for(changes.size(), [&](std::size_t i) {
      const std::size_t input = i % inputs;
      changes[i] = change_.of_output(sizes_.head_of(source, i / inputs), input);
      const std::vector<float> factors = change_.path_factors(source, reading.sources.end, input);
      const std::span<const float> read_factors = target.read_factors(reading.roles.front(), input);
      for (std::size_t t = 0; t < factors.size(); ++t) {
        for (float& value : changes[i].row(t)) value *= factors[t] * read_factors[t];
      }
    });
    return changes;
  }

  // All heads of one source layer against all targets of a reading.
  void screen_pair(std::size_t source, const LayerReading& reading, const ScreenTarget& target, const Matrix& blocks) {
    const std::size_t inputs = record_.inputs().size();
    const std::vector<TargetRole>& targets = reading.targets;
    const std::vector<Matrix> changes = changes_of(source, reading, target);
    DoubleMatrix sums(targets.size(), sizes_.heads);
    double tokens = 0;
    for (std::size_t input = 0; input < inputs; ++input) {
      tokens += static_cast<double>(target.queries(input));
      const std::size_t at_once = sources_at_once(changes[input].rows(), sizes_);
      const std::size_t parts = (sizes_.heads + at_once - 1) / at_once;
      parallel_for(targets.size() * parts, [&](std::size_t task) {
        const std::size_t t = task / parts;
        const std::size_t first = task % parts * at_once;
        const std::size_t count = std::min(at_once, sizes_.heads - first);
        add_effects(input, target, targets[t], {changes.data() + first * inputs + input, inputs, count}, blocks, first,
                    sums.row(t).subspan(first, count));
      });
      if (context_.poll) context_.poll();
    }
    for (std::size_t t = 0; t < targets.size(); ++t) {
      const TargetRole& one = targets[t];
      const std::size_t column = targets_before(reading.layer, one.role, sizes_) + one.head;
      for (std::size_t s = 0; s < sizes_.heads; ++s) {
        screens_[one.screen].values(source * sizes_.heads + s, column) =
            static_cast<float>(std::sqrt(sums(t, s) / tokens));
      }
    }
  }

  // The changes of one input by consecutive source heads.
  struct SourceChanges {
    const Matrix* first;
    std::size_t stride;
    std::size_t count;
  };
  void add_effects(std::size_t input, const ScreenTarget& target, const TargetRole& one, SourceChanges changes,
                   const Matrix& blocks, std::size_t first_source, std::span<double> sums) const {
    const std::size_t h = changes.first->columns();
    const std::size_t tokens = changes.first->rows();
    Buffer<float> buffer(changes.count * tokens * one.width);
    const MatrixSpan moved(buffer.data(), changes.count * tokens, one.width, one.width);
    for (std::size_t s = 0; s < changes.count; ++s) {
      multiply(changes.first[s * changes.stride].view(),
               blocks.view().block((first_source + s) * h, h, one.column, one.width),
               moved.block(s * tokens, tokens, 0, one.width));
    }
    target.add_effects(input, one.role, one.head, moved, sums);
  }

  const RecordedPass& record_;
  const HeadChange& change_;
  std::span<const Role> roles_;
  const Context& context_;
  FinishedWork* finished_;
  const HeadSizes& sizes_;
  std::vector<Screen> screens_;
  std::size_t all_ = 0;  // pairs of layers to screen, and those that are done
  std::size_t done_ = 0;
};

}  // namespace

std::size_t screen_memory(const Model& model, std::span<const ModelInput> inputs, std::span<const Role> roles) {
  const HeadSizes& sizes = model.info().sizes;
  const std::size_t queries = sizes.heads * sizes.d_head;
  std::size_t columns = 0;
  for (const Role role : roles) columns += sizes.heads_of(role) * sizes.width(role);
  // Latents are narrower than what all heads read of them; blocks with them come first.
  const std::size_t blocks = sizes.d_rotary > 0 ? 2 : 1;
  std::size_t floats = (blocks + 1) * sizes.d_model * columns + queries * (blocks * columns + sizes.d_model);
  std::size_t calls = 0;
  std::vector<std::size_t> longest;  // of the two stacks, by input
  std::vector<InputShape> shapes;    // of the inputs in both stacks
  for (const ModelInput& input : inputs) {
    const TokenCounts counts = token_counts(model, input);
    const std::size_t tokens = std::max(counts.source, counts.target);
    longest.push_back(tokens);
    shapes.push_back(input_shape(model, input));
    if (counts.target > 0) shapes.push_back({.tokens = counts.target});
    floats += tokens * queries;
    calls = std::max(calls, ScreenTarget::call_memory(sizes, tokens, sources_at_once(tokens, sizes)));
  }
  const std::size_t heads = sizes.layers * sizes.heads;
  for (const Role role : roles) {
    floats = saturating_add(floats, saturating_multiply(heads, sizes.layers * sizes.heads_of(role)));
  }
  std::size_t bytes = saturating_add(ScreenTarget::memory(sizes, longest), saturating_multiply(floats, sizeof(float)));
  bytes = saturating_add(bytes, LayerAttention::positions_memory(model, shapes));
  return saturating_add(bytes, saturating_multiply(calls, thread_count()));
}

std::vector<Screen> screen(const RecordedPass& record, const HeadChange& change, std::span<const Role> roles,
                           const Context& context, FinishedWork* finished) {
  return Screening(record, change, roles, context, finished).run();
}

}  // namespace headscope
