#include "forward/experts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "forward/memory_plan.h"
#include "forward/parallel_rows.h"
#include "forward/route.h"
#include "forward/weights.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// A row of x that uses an expert.
struct Use {
  std::size_t row;
  float weight;
};

class Mixture {
 public:
  Mixture(const Checkpoint& checkpoint, const StoredExperts& experts, const ExpertRun& run, Buffer<float>& scratch)
      : checkpoint_(checkpoint), experts_(experts), run_(run), scratch_(scratch) {}

  void apply(MatrixView x, MatrixSpan out) {
    for (std::size_t i = 0; i < out.rows(); ++i) std::ranges::fill(out.row(i), 0.0F);
    const std::vector<std::vector<Use>> uses = route(x);
    for (std::size_t e = 0; e < uses.size(); ++e) {
      for (std::size_t first = 0; first < uses[e].size(); first += kMlpRows) {
        add_expert(e, std::span(uses[e]).subspan(first, std::min(kMlpRows, uses[e].size() - first)), x, out);
      }
      if (!uses[e].empty()) done(e);
    }
    if (experts_.shared) add_shared(*experts_.shared, x, out);
  }

 private:
  // By expert: the rows that use it.
  [[nodiscard]] std::vector<std::vector<Use>> route(MatrixView x) {
    const Router& router = experts_.router;
    Matrix logits(x.rows(), experts_.count());
    apply_linear(checkpoint_, router.linear, x, logits.span(), scratch_);
    std::vector<float> correction;
    if (router.correction != nullptr) correction = read_vector(checkpoint_, *router.correction);
    std::vector<ChosenExpert> chosen(x.rows() * router.chosen);
    parallel_for_rows(x.rows(), [&](std::size_t i) {
      choose_experts(router, logits.row(i), correction, std::span(chosen).subspan(i * router.chosen, router.chosen));
    });
    std::vector<std::vector<Use>> uses(experts_.count());
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      uses[chosen[k].expert].push_back({k / router.chosen, chosen[k].weight});
    }
    return uses;
  }

  void add_expert(std::size_t expert, std::span<const Use> uses, MatrixView x, MatrixSpan out) {
    Matrix input(uses.size(), x.columns());
    for (std::size_t k = 0; k < uses.size(); ++k) {
      const float factor = experts_.weighs_input ? uses[k].weight : 1;
      for (std::size_t j = 0; j < x.columns(); ++j) input(k, j) = x(uses[k].row, j) * factor;
    }
    const Matrix hidden = hidden_layer(expert, input.view());
    Matrix result(uses.size(), out.columns());
    apply_linear(checkpoint_, experts_.down.at(expert), hidden.view(), result.span(), scratch_);
    for (std::size_t k = 0; k < uses.size(); ++k) {
      const float factor = experts_.weighs_input ? 1 : uses[k].weight;
      const std::span<float> row = out.row(uses[k].row);
      for (std::size_t j = 0; j < row.size(); ++j) row[j] += factor * result(k, j);
    }
  }

  [[nodiscard]] Matrix hidden_layer(std::size_t expert, MatrixView input) {
    const StoredLinear up_linear = experts_.up.at(expert);
    Matrix up(input.rows(), up_linear.out());
    apply_linear(checkpoint_, up_linear, input, up.span(), scratch_);
    const std::size_t width = experts_.hidden();
    Matrix gate(input.rows(), width);
    if (experts_.gate) apply_linear(checkpoint_, experts_.gate->at(expert), input, gate.span(), scratch_);
    Matrix hidden(input.rows(), width);
    parallel_for_rows(input.rows(), [&](std::size_t i) {
      const std::span<const float> both = up.row(i);
      const std::span<float> own = hidden.row(i);
      for (std::size_t j = 0; j < width; ++j) {
        switch (experts_.gate_rows) {
          case GateRows::kSeparate:
            own[j] = both[j];
            break;
          case GateRows::kFirstHalf:
            gate(i, j) = both[j];
            own[j] = both[width + j];
            break;
          case GateRows::kEven:
            gate(i, j) = both[2 * j];
            own[j] = both[2 * j + 1];
            break;
        }
      }
      if (experts_.gate_rows == GateRows::kSeparate && !experts_.gate) {
        activate(run_.activation, own);
      } else if (experts_.gate_limit > 0) {
        clamp_and_gate(gate.row(i), own);
      } else {
        activate_gate(run_.activation, gate.row(i), own);
      }
    });
    return hidden;
  }

  void clamp_and_gate(std::span<const float> gate, std::span<float> up) const {
    const float limit = experts_.gate_limit;
    for (std::size_t j = 0; j < up.size(); ++j) {
      const float open = std::min(gate[j], limit);
      up[j] = (std::clamp(up[j], -limit, limit) + 1) * open / (1 + std::exp(-experts_.gate_slope * open));
    }
  }

  // The last columns are the neurons.
  [[nodiscard]] Matrix shared_hidden_layer(const SharedExpert& shared, MatrixView rows) {
    const std::size_t width = shared.down.in();
    Matrix up(rows.rows(), shared.up.out());
    apply_linear(checkpoint_, shared.up, rows, up.span(), scratch_);
    Matrix gate(shared.gate ? rows.rows() : 0, width);
    if (shared.gate) apply_linear(checkpoint_, *shared.gate, rows, gate.span(), scratch_);
    parallel_for_rows(rows.rows(), [&](std::size_t i) {
      const std::span<float> row = up.row(i);
      if (shared.gate) {
        activate_gate(run_.activation, gate.row(i), row);
      } else if (shared.gate_in_up) {
        activate_gate(run_.activation, row.first(width), row.subspan(width));
      } else {
        activate(run_.activation, row);
      }
    });
    return up;
  }

  void add_shared(const SharedExpert& shared, MatrixView x, MatrixSpan out) {
    std::vector<float> switched;
    if (shared.switched != nullptr) switched = read_vector(checkpoint_, *shared.switched);
    const auto factor_of = [&](std::size_t i) {
      if (switched.empty()) return 1.0F;
      double sum = 0;
      for (std::size_t j = 0; j < switched.size(); ++j) sum += static_cast<double>(switched[j]) * x(i, j);
      return static_cast<float>(1 / (1 + std::exp(-sum)));
    };
    for (std::size_t first = 0; first < x.rows(); first += kMlpRows) {
      const std::size_t count = std::min(kMlpRows, x.rows() - first);
      const MatrixView rows = x.block(first, count, 0, x.columns());
      const Matrix hidden = shared_hidden_layer(shared, rows);
      Matrix result(count, out.columns());
      const MatrixView neurons = hidden.view().block(0, count, hidden.columns() - shared.down.in(), shared.down.in());
      apply_linear(checkpoint_, shared.down, neurons, result.span(), scratch_);
      parallel_for_rows(count, [&](std::size_t i) {
        const float factor = factor_of(first + i);
        const std::span<float> row = out.row(first + i);
        for (std::size_t j = 0; j < row.size(); ++j) row[j] += factor * result(i, j);
      });
      if (run_.poll) run_.poll();
    }
  }

  void done(std::size_t expert) const {
    if (run_.poll) run_.poll();
    if (!run_.release) return;
    for (const ExpertMatrix* matrix : {&experts_.up, experts_.gate ? &*experts_.gate : nullptr, &experts_.down}) {
      if (matrix != nullptr) checkpoint_.release(*matrix->at(expert).weight);
    }
  }

  const Checkpoint& checkpoint_;
  const StoredExperts& experts_;
  const ExpertRun& run_;
  Buffer<float>& scratch_;
};

}  // namespace

void run_experts(const Checkpoint& checkpoint, const StoredExperts& experts, const ExpertRun& run, MatrixView x,
                 MatrixSpan out, Buffer<float>& scratch) {
  Mixture(checkpoint, experts, run, scratch).apply(x, out);
}

ExpertMemory expert_memory(const StoredExperts& experts) {
  const std::size_t width = experts.down.at(0).out();
  // Input and output, then `up`, gate and hidden layer.
  std::size_t row = 2 * width + experts.up.at(0).out() + 2 * experts.hidden();
  if (experts.shared) row = std::max(row, width + 2 * experts.shared->up.out());
  // The vectors of uses grow by doubling.
  return {experts.count() * sizeof(float) + experts.router.chosen * (sizeof(ChosenExpert) + 2 * sizeof(Use)),
          kMlpRows * row * sizeof(float)};
}

}  // namespace headscope
