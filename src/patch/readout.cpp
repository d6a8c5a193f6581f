#include "headscope/patch/readout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headscope/base/error.h"

namespace headscope {
namespace {

double log_sum_exp(MatrixView output, std::size_t row) {
  double largest = static_cast<double>(output(row, 0));
  for (std::size_t j = 1; j < output.columns(); ++j) largest = std::max(largest, static_cast<double>(output(row, j)));
  double sum = 0;
  for (std::size_t j = 0; j < output.columns(); ++j) sum += std::exp(static_cast<double>(output(row, j)) - largest);
  return largest + std::log(sum);
}

void check(const Readout& one, const OutputRows& rows) {
  if (one.row >= rows.rows) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("there is no prediction {}: the model makes {}", one.row, rows.rows));
  }
  const std::uint32_t last = std::max(one.answer, one.other.value_or(0));
  if (last >= rows.values.columns()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} is not one of the {} possible answers", last, rows.values.columns()));
  }
}

}  // namespace

void ReadoutSum::add(const OutputRows& rows) {
  for (const Readout& one : readouts_) {
    check(one, rows);
    if (one.row < rows.first_row || one.row >= rows.first_row + rows.values.rows()) continue;
    const std::size_t row = one.row - rows.first_row;
    const auto logit = [&](std::uint32_t token) { return static_cast<double>(rows.values(row, token)); };
    sum_ += one.other ? logit(one.answer) - logit(*one.other) : log_sum_exp(rows.values, row) - logit(one.answer);
  }
}

std::vector<Readout> next_token_readouts(const ModelInput& input, std::size_t first) {
  std::vector<Readout> readouts;
  for (std::size_t row = first; row + 1 < input.ids.size(); ++row) readouts.push_back({row, input.ids[row + 1], {}});
  return readouts;
}

}  // namespace headscope
