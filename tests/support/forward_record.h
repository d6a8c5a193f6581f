#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "headscope/forward/forward.h"

namespace headscope::test {

/// Records everything that a forward pass reports, row by row.
struct ForwardRecord {
  using Key = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;  // input, layer, head, query
  std::map<Key, std::vector<float>> scores;
  std::map<Key, std::vector<float>> pattern;
  std::vector<std::vector<float>> output;  // by input
  std::size_t repeated = 0;                // rows reported more than once

  bool operator==(const ForwardRecord&) const = default;
};

inline ForwardRecord record_forward(const Model& model, std::span<const ModelInput> inputs, ForwardOptions options = {},
                                    bool with_output = true, const Context& context = {}) {
  ForwardRecord record;
  std::mutex mutex;
  const auto store = [&](std::map<ForwardRecord::Key, std::vector<float>>& to, const MapRows& rows) {
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < rows.values.rows(); ++i) {
      std::vector<float> row;
      for (std::size_t j = 0; j < rows.values.columns(); ++j) row.push_back(rows.values(i, j));
      const ForwardRecord::Key key{rows.input, rows.layer, rows.head, rows.first_query + i};
      if (!to.emplace(key, std::move(row)).second) ++record.repeated;
    }
  };
  options.on_scores = [&](const MapRows& rows) { store(record.scores, rows); };
  options.on_pattern = [&](const MapRows& rows) { store(record.pattern, rows); };
  record.output.resize(inputs.size());
  if (with_output) {
    options.on_output = [&](const OutputRows& rows) {
      std::vector<float>& out = record.output[rows.input];
      out.resize(rows.rows * rows.values.columns());
      for (std::size_t i = 0; i < rows.values.rows(); ++i) {
        for (std::size_t j = 0; j < rows.values.columns(); ++j) {
          out[(rows.first_row + i) * rows.values.columns() + j] = rows.values(i, j);
        }
      }
    };
  }
  run_forward(model, inputs, options, context);
  return record;
}

}  // namespace headscope::test
