#include "forward/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "forward/merge_patches.h"
#include "headscope/forward/patch_grid.h"
#include "headscope/model/network.h"

namespace headscope {
namespace {

Model model_of(const Model& model, std::size_t stage) {
  return model.of_tower(fmt::format("stage{}", stage + 1));
}

std::size_t bytes_of(const std::vector<Matrix>& streams) {
  std::size_t bytes = 0;
  for (const Matrix& one : streams) bytes += one.values().size() * sizeof(float);
  return bytes;
}

class StageRun {
 public:
  StageRun(const Model& model, std::span<const ModelInput> inputs, const ForwardOptions& options,
           const Context& context, const StagePass& pass)
      : model_(model), inputs_(inputs), options_(options), context_(context), pass_(pass) {
    const Network network = resolve_network(model);
    own_ = network.stage->index;
    const bool continues = options.on_output && !network.output.classifiers.empty();
    last_ = continues ? network.stage->count - 1 : own_;
  }

  void run() {
    // A pass that begins in the middle of its stage does not need the earlier ones.
    for (std::size_t stage = options_.start ? own_ : 0; stage <= last_; ++stage) {
      if (stage == own_) {
        run_stage(model_, stage);
      } else {
        run_stage(model_of(model_, stage), stage);
      }
    }
  }

 private:
  void run_stage(const Model& model, std::size_t stage) {
    ForwardOptions options = stage == own_ ? options_ : ForwardOptions{};
    if (stage > own_) options.copies = options_.copies;
    if (!streams_.empty()) {
      options.start = [this](std::size_t input, MatrixSpan rows) {
        const Matrix& stream = streams_[input % streams_.size()];  // copies of an input begin alike
        for (std::size_t t = 0; t < rows.rows(); ++t) std::ranges::copy(stream.row(t), rows.row(t).begin());
      };
    }
    std::vector<Matrix> ends(stage < last_ ? inputs_.size() * options.copies : 0);
    if (stage < last_) {
      options.first_output = 0;
      options.end_output = ForwardOptions{}.end_output;
      options.on_output = [&ends](const OutputRows& rows) {
        Matrix& end = ends[rows.input];
        if (end.rows() == 0) end = Matrix(rows.rows, rows.values.columns());
        for (std::size_t i = 0; i < rows.values.rows(); ++i) {
          std::copy_n(rows.values.data() + i * rows.values.row_stride(), end.columns(),
                      end.row(rows.first_row + i).begin());
        }
      };
    } else {
      options.on_output = options_.on_output;
      options.first_output = options_.first_output;
      options.end_output = options_.end_output;
    }
    const auto done = [this](std::size_t stages) {
      return static_cast<double>(stages) / static_cast<double>(last_ + 1);
    };
    // The streams of the next stage take half of the room of this one's.
    const std::size_t held = 2 * bytes_of(streams_) + end_bytes(model, ends.size());
    pass_(model, options, context_.part(done(stage), done(stage + 1)).without_memory(held));
    if (stage < last_) merge(model, ends);
  }

  [[nodiscard]] std::size_t end_bytes(const Model& model, std::size_t ends) const {
    std::size_t rows = 0;
    for (std::size_t i = 0; i < ends; ++i) rows += token_count(model, inputs_[i % inputs_.size()]);
    return rows * model.info().sizes.d_model * sizeof(float);
  }

  void merge(const Model& model, std::vector<Matrix>& ends) {
    const Network network = resolve_network(model);
    streams_.clear();
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const PatchGrid grid = patch_grid(network.input, inputs_[i % inputs_.size()].pixels);
      streams_.push_back(merge_patches(model, *network.stage->to_next, ends[i].view(), grid));
      ends[i] = {};
    }
  }

  const Model& model_;
  std::span<const ModelInput> inputs_;
  const ForwardOptions& options_;
  const Context& context_;
  const StagePass& pass_;
  std::size_t own_ = 0;
  std::size_t last_ = 0;
  std::vector<Matrix> streams_;  // before the stage, by input
};

}  // namespace

void run_stages(const Model& model, std::span<const ModelInput> inputs, const ForwardOptions& options,
                const Context& context, const StagePass& pass) {
  StageRun(model, inputs, options, context, pass).run();
}

std::size_t earlier_stages_memory(const Model& model, const Network& network, std::size_t longest) {
  if (network.stage->index == 0) return 0;
  const Model before = model_of(model, network.stage->index - 1);
  const std::size_t streams = 6 * longest * before.info().sizes.d_model * sizeof(float);  // four rows become two
  return forward_memory(before, 4 * longest) + streams;
}

}  // namespace headscope
