#include "forward/attention.h"

#include <algorithm>

#include "headscope/base/buffer.h"
#include "headscope/base/parallel.h"
#include "headscope/linalg/matrix_product.h"

namespace headscope {
namespace {

// Maximum size of a block, queries times all keys, in floats: 1 MB, which stays in a core's L2 cache. Inputs of more
// than 16384 tokens exceed it, as a block has at least 16 queries.
constexpr std::size_t kBlockFloats = 256 * 1024;

std::size_t block_queries(std::size_t queries, std::size_t keys) {
  constexpr std::size_t kMin = 16;
  return std::min(queries, std::max(kBlockFloats / keys, kMin));
}

class MapBlock {
 public:
  MapBlock(const AttentionTask& task, std::size_t head, std::size_t first, std::size_t count)
      : task_(task),
        keys_(task.keys),
        head_(head),
        kv_head_(head / (task.heads / task.kv_heads)),
        first_(first),
        count_(count),
        map_(count * keys_) {}

  void run() {
    const bool wanted =
        task_.wanted[head_] && std::max(first_, task_.first_query) < std::min(first_ + count_, task_.end_query);
    const bool wants_scores = wanted && task_.on_scores;
    const bool replaced = !task_.replacements[head_].empty();
    if (!replaced || wanted) {
      // Keys that no query of the block sees only matter if the scores are requested.
      const KeyRange keys = wants_scores ? KeyRange{0, keys_} : seen_by_block();
      score(keys);
      if (wants_scores) deliver(task_.on_scores);
      normalize(keys);
      if (wanted && task_.on_pattern) deliver(task_.on_pattern);
    }
    write(replaced);
  }

 private:
  [[nodiscard]] KeyRange seen_by(std::size_t query) const { return task_.rules.seen_by(query, keys_); }
  [[nodiscard]] KeyRange seen_by_block() const { return {seen_by(first_).first, seen_by(first_ + count_ - 1).last}; }
  [[nodiscard]] MatrixSpan map(KeyRange keys) {
    return MatrixSpan(map_.data(), count_, keys_, keys_).block(0, count_, keys.first, keys.last - keys.first);
  }

  void score(KeyRange keys) {
    const MatrixView q(task_.q.at(first_, head_), count_, task_.d_key, task_.q.row_stride);
    const MatrixView k(task_.k.at(keys.first, kv_head_), keys.last - keys.first, task_.d_key, task_.k.row_stride);
    compute_scores(task_.rules, head_, q, first_, k, keys.first, map(keys));
  }

  void normalize(KeyRange computed) {
    const MatrixSpan all(map_.data(), count_, keys_, keys_);
    // Columns that were not computed are uninitialized; they are read only if the map is passed on.
    const KeyRange used = task_.wanted[head_] ? KeyRange{0, keys_} : computed;
    for (std::size_t i = 0; i < count_; ++i) normalize_scores(task_.rules, head_, first_ + i, all.row(i), used);
  }

  void deliver(const std::function<void(std::size_t, std::size_t, MatrixView)>& receiver) const {
    const std::size_t begin = std::max(first_, task_.first_query);
    const std::size_t end = std::min(first_ + count_, task_.end_query);
    const MatrixView all(map_.data(), count_, keys_, keys_);
    receiver(head_, begin, all.block(begin - first_, end - begin, 0, keys_));
  }

  void write(bool replaced) {
    const MatrixSpan out = task_.out.block(first_, count_, head_ * task_.d_value, task_.d_value);
    if (replaced) {
      for (std::size_t i = 0; i < count_; ++i) std::ranges::copy(task_.replacements[head_], out.row(i).begin());
      return;
    }
    const KeyRange keys = seen_by_block();
    const MatrixView v(task_.v.at(keys.first, kv_head_), keys.last - keys.first, task_.d_value, task_.v.row_stride);
    multiply(map(keys).view(), v, out);
  }

  const AttentionTask& task_;
  std::size_t keys_;
  std::size_t head_;
  std::size_t kv_head_;
  std::size_t first_;
  std::size_t count_;
  Buffer<float> map_;
};

}  // namespace

void for_blocks(std::size_t blocks, std::size_t max_blocks, const std::function<void(std::size_t)>& run) {
  // If memory is short, not every thread gets a block of its own.
  const std::size_t workers = max_blocks < thread_count() ? max_blocks : blocks;
  parallel_for(std::min(workers, blocks), [&](std::size_t worker) {
    for (std::size_t i = worker; i < blocks; i += workers) run(i);
  });
}

void attend(const AttentionTask& task) {
  const std::size_t queries = task.out.rows();
  const std::size_t size = block_queries(queries, task.keys);
  const std::size_t blocks = (queries + size - 1) / size;
  for_blocks(task.heads * blocks, task.max_blocks, [&](std::size_t i) {
    const std::size_t first = i % blocks * size;
    MapBlock(task, i / blocks, first, std::min(size, queries - first)).run();
  });
}

std::size_t block_memory(std::size_t tokens) {
  return block_queries(tokens, tokens) * tokens * (sizeof(float) + sizeof(unsigned short));
}

}  // namespace headscope
