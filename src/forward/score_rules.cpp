#include "forward/score_rules.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "headscope/forward/row_kernels.h"
#include "headscope/linalg/matrix_product.h"

namespace headscope {
namespace {

void softmax_with_sink(std::span<float> x, float sink) {
  const double keys = log_sum_exp(x);
  softmax(x);
  const auto share = static_cast<float>(1 / (1 + std::exp(static_cast<double>(sink) - keys)));
  for (float& value : x) value *= share;
}

Matrix rows_of(MatrixView all, std::span<const std::size_t> tokens) {
  Matrix rows(tokens.size(), all.columns());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::copy_n(all.data() + tokens[i] * all.row_stride(), all.columns(), rows.row(i).begin());
  }
  return rows;
}

void compute_windows(const ScoreRules& rules, std::size_t head, MatrixView q, MatrixView k, MatrixSpan pattern) {
  for (std::size_t t = 0; t < pattern.rows(); ++t) std::ranges::fill(pattern.row(t), 0.0F);
  for (const std::vector<std::size_t>& tokens : rules.windows->parts()) {
    Matrix map(tokens.size(), tokens.size());
    compute_window_scores(rules, head, tokens, rows_of(q, tokens).view(), rows_of(k, tokens).view(), map.span());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      softmax(map.row(i));
      for (std::size_t j = 0; j < tokens.size(); ++j) pattern.row(tokens[i])[tokens[j]] = map(i, j);
    }
  }
}

}  // namespace

KeyRange ScoreRules::seen_by(std::size_t query, std::size_t keys) const {
  const std::size_t next = query + 1;
  const std::size_t end = causal ? next : window > 0 ? std::min(query + window, keys) : keys;
  const std::size_t begin = window > 0 && next > window ? next - window : 0;
  return {chunk > 0 ? std::max(begin, query / chunk * chunk) : begin, end};
}

void compute_scores(const ScoreRules& rules, std::size_t head, MatrixView q, std::size_t first_query, MatrixView k,
                    std::size_t first_key, MatrixSpan scores) {
  const float scale = rules.scale_of(head);
  multiply(q, k.transposed(), scores, scale);
  if (rules.relative != nullptr) rules.relative->add(head, q, first_query, k, first_key, scale, scores);
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    const std::span<float> row = scores.row(i);
    if (rules.cap > 0) soft_cap(row, rules.cap);
    if (rules.grid_bias != nullptr) rules.grid_bias->add(head, first_query + i, first_key, row);
    if (rules.bias != nullptr) {
      add_scaled(rules.bias->row(head, first_query + i).subspan(first_key, row.size()), {}, row);
    }
  }
}

void normalize_scores(const ScoreRules& rules, std::size_t head, std::size_t query, std::span<float> row,
                      KeyRange zeroed) {
  const KeyRange keys = rules.seen_by(query, row.size());
  const auto at = [&](std::size_t key) { return row.begin() + static_cast<std::ptrdiff_t>(key); };
  std::fill(at(zeroed.first), at(keys.first), 0.0F);
  const std::span<float> seen = row.subspan(keys.first, keys.last - keys.first);
  if (rules.sinks.empty()) {
    softmax(seen);
  } else {
    softmax_with_sink(seen, rules.sinks[head]);
  }
  std::fill(at(keys.last), at(zeroed.last), 0.0F);
}

void compute_window_scores(const ScoreRules& rules, std::size_t head, std::span<const std::size_t> tokens, MatrixView q,
                           MatrixView k, MatrixSpan scores) {
  multiply(q, k.transposed(), scores, rules.scale_of(head));
  if (rules.window_bias == nullptr) return;
  struct Place {
    std::ptrdiff_t row;
    std::ptrdiff_t column;
  };
  const auto width = static_cast<std::ptrdiff_t>(rules.windows->grid().width);
  std::vector<Place> places;
  for (const std::size_t token : tokens) {
    const auto patch = static_cast<std::ptrdiff_t>(token);
    places.push_back({patch / width, patch % width});
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::span<float> row = scores.row(i);
    for (std::size_t j = 0; j < places.size(); ++j) {
      row[j] += rules.window_bias->at(head, places[i].row - places[j].row, places[i].column - places[j].column);
    }
  }
}

void compute_pattern(const ScoreRules& rules, std::size_t head, MatrixView q, MatrixView k, MatrixSpan pattern) {
  if (rules.windows != nullptr) {
    compute_windows(rules, head, q, k, pattern);
    return;
  }
  compute_scores(rules, head, q, 0, k, 0, pattern);
  for (std::size_t t = 0; t < pattern.rows(); ++t) {
    normalize_scores(rules, head, t, pattern.row(t), {0, pattern.columns()});
  }
}

}  // namespace headscope
