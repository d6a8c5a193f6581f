#include "headscope/patch/readout.h"

#include <fmt/format.h>

#include <algorithm>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/forward/row_kernels.h"

namespace headscope {
namespace {

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
  std::vector<const Readout*> here;
  for (const Readout& one : readouts_) {
    check(one, rows);
    if (one.row >= rows.first_row && one.row < rows.first_row + rows.values.rows()) here.push_back(&one);
  }
  std::vector<double> values(here.size());
  parallel_for(here.size(), [&](std::size_t i) {
    const std::size_t row = here[i]->row - rows.first_row;
    const std::span<const float> logits(rows.values.data() + row * rows.values.row_stride(), rows.values.columns());
    const double other = here[i]->other ? static_cast<double>(logits[*here[i]->other]) : 0;
    const double answer = static_cast<double>(logits[here[i]->answer]);
    values[i] = here[i]->other ? answer - other : log_sum_exp(logits) - answer;
  });
  for (const double value : values) sum_ += value;
}

const std::vector<std::uint32_t>& output_ids(const ModelInput& input) noexcept {
  return input.target.empty() ? input.ids : input.target;
}

std::vector<Readout> next_token_readouts(const ModelInput& input, std::size_t first) {
  const std::vector<std::uint32_t>& ids = output_ids(input);
  std::vector<Readout> readouts;
  for (std::size_t row = first; row + 1 < ids.size(); ++row) readouts.push_back({row, ids[row + 1], {}});
  return readouts;
}

}  // namespace headscope
