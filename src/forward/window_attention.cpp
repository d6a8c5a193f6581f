#include "forward/window_attention.h"

#include <algorithm>
#include <span>
#include <vector>

#include "headscope/forward/row_kernels.h"
#include "headscope/linalg/matrix_product.h"

namespace headscope {
namespace {

// One head in one window.
class WindowBlock {
 public:
  WindowBlock(const AttentionTask& task, std::span<const std::size_t> tokens, std::size_t head)
      : task_(task),
        tokens_(tokens),
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
    compute_window_scores(task_.rules, head_, tokens_, q.view(), k.view(), map_.span());
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
  std::span<const std::size_t> tokens_;
  std::size_t head_;
  std::size_t kv_head_;
  Matrix map_;
};

}  // namespace

void attend_in_windows(const AttentionTask& task) {
  const std::vector<std::vector<std::size_t>>& windows = task.rules.windows->parts();
  for_blocks(task.heads * windows.size(), task.max_blocks,
             [&](std::size_t i) { WindowBlock(task, windows[i % windows.size()], i / windows.size()).run(); });
}

std::size_t window_floats(std::size_t side, std::size_t patches, const HeadSizes& sizes) {
  const std::size_t bias = sizes.heads * (2 * side - 1) * (2 * side - 1);
  return bias + patches * patches + 4 * patches * sizes.widest();
}

}  // namespace headscope
