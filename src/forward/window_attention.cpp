#include "forward/window_attention.h"

#include <algorithm>
#include <span>

#include "headscope/forward/row_kernels.h"
#include "headscope/linalg/matrix_product.h"

namespace headscope {
namespace {

// One head in one window.
class WindowBlock {
 public:
  WindowBlock(const AttentionTask& task, const PatchGrid& grid, std::span<const std::size_t> tokens,
              const WindowBias* bias, std::size_t head)
      : task_(task),
        grid_(grid),
        tokens_(tokens),
        bias_(bias),
        head_(head),
        kv_head_(head / (task.heads / task.kv_heads)),
        map_(tokens.size(), tokens.size()) {}

  void run() {
    const bool wanted = task_.wanted[head_] && (task_.on_scores || task_.on_pattern);
    const bool replaced = !task_.replacements[head_].empty();
    if (!replaced || wanted) {
      score();
      if (wanted && task_.on_scores) deliver(task_.on_scores);
      for (std::size_t i = 0; i < tokens_.size(); ++i) softmax(map_.row(i));
      if (wanted && task_.on_pattern) deliver(task_.on_pattern);
    }
    if (replaced) {
      for (const std::size_t token : tokens_) std::ranges::copy(task_.replacements[head_], output(token).begin());
    } else {
      write();
    }
  }

 private:
  [[nodiscard]] Matrix gather(const HeadColumns& columns, std::size_t head, std::size_t width) const {
    Matrix rows(tokens_.size(), width);
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      std::copy_n(columns.at(tokens_[i], head), width, rows.row(i).begin());
    }
    return rows;
  }
  [[nodiscard]] std::span<float> output(std::size_t token) const {
    return task_.out.row(token).subspan(head_ * task_.d_value, task_.d_value);
  }

  void score() {
    const Matrix q = gather(task_.q, head_, task_.d_key);
    const Matrix k = gather(task_.k, kv_head_, task_.d_key);
    multiply(q.view(), k.view().transposed(), map_.span(), scale_of(task_, head_));
    if (bias_ == nullptr) return;
    const auto signed_place = [&](std::size_t i) {
      return std::pair(static_cast<std::ptrdiff_t>(tokens_[i] / grid_.width),
                       static_cast<std::ptrdiff_t>(tokens_[i] % grid_.width));
    };
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const auto [row, column] = signed_place(i);
      for (std::size_t j = 0; j < tokens_.size(); ++j) {
        const auto [key_row, key_column] = signed_place(j);
        map_(i, j) += bias_->at(head_, row - key_row, column - key_column);
      }
    }
  }

  // Passes on runs of consecutive queries.
  void deliver(const std::function<void(std::size_t, std::size_t, MatrixView)>& receiver) const {
    std::size_t end = 0;
    for (std::size_t begin = 0; begin < tokens_.size(); begin = end) {
      end = begin + 1;
      while (end < tokens_.size() && tokens_[end] == tokens_[end - 1] + 1) ++end;
      const std::size_t first = std::max(tokens_[begin], task_.first_query);
      const std::size_t last = std::min(tokens_[end - 1] + 1, task_.end_query);
      if (first >= last) continue;
      Matrix rows(last - first, task_.keys);
      for (std::size_t query = first; query < last; ++query) {
        const std::span<const float> own = map_.row(begin + query - tokens_[begin]);
        for (std::size_t j = 0; j < tokens_.size(); ++j) rows(query - first, tokens_[j]) = own[j];
      }
      receiver(head_, first, rows.view());
    }
  }

  void write() const {
    const Matrix v = gather(task_.v, kv_head_, task_.d_value);
    Matrix out(tokens_.size(), task_.d_value);
    multiply(map_.view(), v.view(), out.span());
    for (std::size_t i = 0; i < tokens_.size(); ++i) std::ranges::copy(out.row(i), output(tokens_[i]).begin());
  }

  const AttentionTask& task_;
  const PatchGrid& grid_;
  std::span<const std::size_t> tokens_;
  const WindowBias* bias_;
  std::size_t head_;
  std::size_t kv_head_;
  Matrix map_;
};

}  // namespace

WindowParts::WindowParts(const PatchWindows& windows, const PatchGrid& grid) : grid_(grid) {
  const PatchWindows own = windows.in(grid.height, grid.width);
  const std::size_t columns = own.along(grid.width - 1) + 1;
  parts_.resize((own.along(grid.height - 1) + 1) * columns);
  for (std::size_t token = 0; token < grid.size(); ++token) {
    parts_[own.along(token / grid.width) * columns + own.along(token % grid.width)].push_back(token);
  }
}

void attend_in_windows(const AttentionTask& task, const WindowParts& windows, const WindowBias* bias) {
  const std::size_t count = windows.parts().size();
  for_blocks(task.heads * count, task.max_blocks, [&](std::size_t i) {
    WindowBlock(task, windows.grid(), windows.parts()[i % count], bias, i / count).run();
  });
}

std::size_t window_floats(std::size_t side, std::size_t patches, const HeadSizes& sizes) {
  const std::size_t bias = sizes.heads * (2 * side - 1) * (2 * side - 1);
  return bias + patches * patches + 4 * patches * sizes.widest();
}

}  // namespace headscope
