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
#include "headscope/linalg/matrix_product.h"
#include "patch/screen_target.h"

namespace headscope {
namespace {

// Rows of stacked changes per call: what the products need to be fast, and little enough for the cache.
constexpr std::size_t kStackedRows = 768;

// One role of one target head, and where its columns are.
struct TargetRole {
  std::size_t screen;  // index of its role
  Role role;
  std::size_t head;
  std::size_t column;  // first column of its reading matrix
};

std::vector<TargetRole> targets_of(std::span<const Role> roles, const HeadSizes& sizes) {
  std::vector<TargetRole> targets;
  std::size_t column = 0;
  for (std::size_t r = 0; r < roles.size(); ++r) {
    for (std::size_t head = 0; head < sizes.heads_of(roles[r]); ++head, column += sizes.d_head) {
      targets.push_back({r, roles[r], head, column});
    }
  }
  return targets;
}

// The reading matrices of all targets side by side, d_model x columns, with the gain and the centering of the norm
// before them.
Matrix read_matrices(const Model& model, std::size_t layer, std::span<const Role> roles, std::size_t columns,
                     const LayerAttention& attention) {
  Matrix reads(model.info().sizes.d_model, columns);
  std::size_t first = 0;
  for (const Role role : roles) {
    const HeadWeights weights = model.load_heads(layer, role, WeightProcessing::kRaw);
    for (std::size_t a = 0; a < weights.heads(); ++a, first += weights.d_head()) {
      const MatrixView head = weights.head(a);
      for (std::size_t i = 0; i < reads.rows(); ++i) {
        const float gain = attention.read_gain().empty() ? 1.0F : attention.read_gain()[i];
        for (std::size_t j = 0; j < head.columns(); ++j) reads(i, first + j) = head(i, j) * gain;
      }
    }
  }
  if (attention.centers()) center_columns(reads);
  return reads;
}

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
        sizes_(record.model().info().sizes),
        targets_(targets_of(roles, sizes_)) {
    for (std::size_t i = 0; i < record.inputs().size(); ++i) lengths_.push_back(record.tokens(i));
    for (const Role role : roles) {
      if (role == Role::kO) throw Error(ErrorKind::kInvalidArgument, "O writes: only Q, K and V can be screened");
      screens_.push_back({role, Matrix(sizes_.layers * sizes_.heads, sizes_.layers * sizes_.heads_of(role))});
    }
    require_memory(context, screen_memory(sizes_, lengths_, roles), "screening all pairs of heads");
  }

  std::vector<Screen> run() {
    const std::size_t all = sizes_.layers * (sizes_.layers - 1) / 2;
    std::size_t done = 0;
    for (std::size_t layer = 1; layer < sizes_.layers; ++layer) {
      if (restore(layer)) {
        done += layer;
        continue;
      }
      const ScreenTarget target(record_, layer, lengths_, change_.is_post_norm());
      const std::size_t columns = targets_.size() * sizes_.d_head;
      Matrix reads = read_matrices(record_.model(), layer, roles_, columns, target.attention());
      Matrix blocks(sizes_.heads * sizes_.d_head, columns);
      HeadWeights writes;
      for (std::size_t source = layer; source-- > 0;) {
        Matrix carried = reads;
        change_.carry_back(source, carried);
        if (change_.is_post_norm()) reads = carried;
        writes = record_.model().load_heads(source, Role::kO, WeightProcessing::kRaw, std::move(writes));
        const MatrixView stacked(writes.columns(0).data(), blocks.rows(), sizes_.d_model, sizes_.d_model);
        parallel_multiply(stacked, carried.view(), blocks.span());
        screen_pair(source, layer, target, blocks);
        context_.report(static_cast<double>(++done) / static_cast<double>(all));
      }
      keep(layer);
    }
    return std::move(screens_);
  }

 private:
  [[nodiscard]] static std::string id(std::size_t layer) { return fmt::format("screen {}", layer); }
  // Calls `each` with the rows of all earlier heads, in the columns of the targets of a layer.
  void for_each_row(std::size_t layer, const std::function<void(std::span<float>)>& each) {
    for (Screen& one : screens_) {
      const std::size_t targets = sizes_.heads_of(one.role);
      for (std::size_t i = 0; i < layer * sizes_.heads; ++i) each(one.values.row(i).subspan(layer * targets, targets));
    }
  }
  bool restore(std::size_t layer) {
    const auto found = finished_ == nullptr ? std::nullopt : finished_->find(id(layer));
    if (!found || found->size() != layer * sizes_.heads * targets_.size() * sizeof(float)) return false;
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

  // All heads of one source layer against all targets of one layer.
  void screen_pair(std::size_t source, std::size_t layer, const ScreenTarget& target, const Matrix& blocks) {
    const std::size_t inputs = lengths_.size();
    std::vector<Matrix> changes(sizes_.heads * inputs);
    parallel_for(changes.size(), [&](std::size_t i) {
      changes[i] = change_.of_output({source, i / inputs}, i % inputs);
      std::vector<float> factors = change_.path_factors(source, layer, i % inputs);
      for (std::size_t t = 0; t < factors.size(); ++t) {
        for (float& value : changes[i].row(t)) value *= factors[t] * target.read_factors(i % inputs)[t];
      }
    });
    DoubleMatrix sums(targets_.size(), sizes_.heads);
    for (std::size_t input = 0; input < inputs; ++input) {
      const std::size_t at_once = sources_at_once(lengths_[input], sizes_);
      const std::size_t parts = (sizes_.heads + at_once - 1) / at_once;
      parallel_for(targets_.size() * parts, [&](std::size_t task) {
        const std::size_t t = task / parts;
        const std::size_t first = task % parts * at_once;
        const std::size_t count = std::min(at_once, sizes_.heads - first);
        add_effects(input, target, t, {changes.data() + first * inputs + input, inputs, count}, blocks, first,
                    sums.row(t).subspan(first, count));
      });
      if (context_.poll) context_.poll();
    }
    double tokens = 0;
    for (const std::size_t length : lengths_) tokens += static_cast<double>(length);
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      const TargetRole& one = targets_[t];
      const std::size_t column = layer * sizes_.heads_of(one.role) + one.head;
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
  void add_effects(std::size_t input, const ScreenTarget& target, std::size_t t, SourceChanges changes,
                   const Matrix& blocks, std::size_t first_source, std::span<double> sums) const {
    const std::size_t h = sizes_.d_head;
    const std::size_t tokens = lengths_[input];
    Buffer<float> buffer(changes.count * tokens * h);
    const MatrixSpan moved(buffer.data(), changes.count * tokens, h, h);
    for (std::size_t s = 0; s < changes.count; ++s) {
      multiply(changes.first[s * changes.stride].view(),
               blocks.view().block((first_source + s) * h, h, targets_[t].column, h),
               moved.block(s * tokens, tokens, 0, h));
    }
    target.add_effects(input, targets_[t].role, targets_[t].head, moved, sums);
  }

  const RecordedPass& record_;
  const HeadChange& change_;
  std::span<const Role> roles_;
  const Context& context_;
  FinishedWork* finished_;
  const HeadSizes& sizes_;
  std::vector<TargetRole> targets_;
  std::vector<std::size_t> lengths_;
  std::vector<Screen> screens_;
};

}  // namespace

std::size_t screen_memory(const HeadSizes& sizes, std::span<const std::size_t> lengths, std::span<const Role> roles) {
  const std::size_t queries = sizes.heads * sizes.d_head;
  const std::size_t columns = targets_of(roles, sizes).size() * sizes.d_head;
  std::size_t floats = 2 * sizes.d_model * columns + queries * (columns + sizes.d_model);
  std::size_t calls = 0;
  for (const std::size_t tokens : lengths) {
    floats += tokens * queries;
    calls = std::max(calls, ScreenTarget::call_memory(sizes, tokens, sources_at_once(tokens, sizes)));
  }
  const std::size_t heads = sizes.layers * sizes.heads;
  for (const Role role : roles) {
    floats = saturating_add(floats, saturating_multiply(heads, sizes.layers * sizes.heads_of(role)));
  }
  const std::size_t bytes =
      saturating_add(ScreenTarget::memory(sizes, lengths), saturating_multiply(floats, sizeof(float)));
  return saturating_add(bytes, saturating_multiply(calls, thread_count()));
}

std::vector<Screen> screen(const RecordedPass& record, const HeadChange& change, std::span<const Role> roles,
                           const Context& context, FinishedWork* finished) {
  return Screening(record, change, roles, context, finished).run();
}

}  // namespace headscope
