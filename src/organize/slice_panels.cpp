#include "organize/slice_panels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/linalg/transpose.h"

namespace headscope {
namespace {

std::size_t panel_count(std::size_t slices) {
  return (slices + kPanel - 1) / kPanel;
}

bool differs_between_slices(const TensorSlices& slices, AbsentEntries absent) {
  return slices.present != nullptr && absent == AbsentEntries::kLeftOut && slices.present_slice_stride != 0;
}

void copy_row(const TensorSlices& in, std::size_t first, std::size_t count, std::size_t row, float* out) {
  const float* from = in.values + first * in.slice_stride + row * in.row_stride;
  if (count < kPanel) std::fill(out, out + in.columns * kPanel, 0.0F);
  if (in.column_stride == 1) {
    transpose(from, in.slice_stride, count, in.columns, out, kPanel);
  } else if (in.slice_stride == 1) {
    for (std::size_t c = 0; c < in.columns; ++c) {
      std::memcpy(out + c * kPanel, from + c * in.column_stride, count * sizeof(float));
    }
  } else {
    for (std::size_t c = 0; c < in.columns; ++c) {
      for (std::size_t s = 0; s < count; ++s) out[c * kPanel + s] = from[s * in.slice_stride + c * in.column_stride];
    }
  }
}

// Sets what is absent to zero, and notes what is present where that is asked for.
void apply_mask(const TensorSlices& in, std::size_t first, std::size_t count, std::size_t row, float* values,
                float* present) {
  const std::uint8_t* from = in.present + first * in.present_slice_stride + row * in.present_row_stride;
  if (present != nullptr) std::fill(present, present + in.columns * kPanel, 0.0F);
  for (std::size_t c = 0; c < in.columns; ++c) {
    for (std::size_t s = 0; s < count; ++s) {
      const bool is_present = from[s * in.present_slice_stride + c * in.present_column_stride] != 0;
      if (!is_present) values[c * kPanel + s] = 0;
      if (present != nullptr) present[c * kPanel + s] = is_present ? 1.0F : 0.0F;
    }
  }
}

// The mean over the slices of one panel of every entry of a row.
std::vector<float> means(const float* values, std::size_t columns, std::size_t count) {
  std::vector<float> result(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    double sum = 0;
    for (std::size_t s = 0; s < count; ++s) sum += static_cast<double>(values[c * kPanel + s]);
    result[c] = static_cast<float>(sum / static_cast<double>(count));
  }
  return result;
}

// One row of all panels.
class RowMaker {
 public:
  RowMaker(const TensorSlices& in, SlicePanels& out) : in_(in), out_(out) {}

  void make(std::size_t row) const {
    for (std::size_t panel = 0; panel < out_.panels; ++panel) {
      const std::size_t first = panel * kPanel;
      const std::size_t offset = (panel * in_.rows + row) * in_.columns * kPanel;
      copy_row(in_, first, count(panel), row, out_.values.data() + offset);
      if (in_.present == nullptr) continue;
      apply_mask(in_, first, count(panel), row, out_.values.data() + offset,
                 out_.present.size() == 0 ? nullptr : out_.present.data() + offset);
    }
    if (out_.present.size() == 0) center(row);
  }

 private:
  [[nodiscard]] std::size_t count(std::size_t panel) const noexcept {
    return std::min(kPanel, in_.slices - panel * kPanel);
  }

  // What slices have in common adds nothing to their distances, and takes digits from sums of maxima.
  void center(std::size_t row) const {
    const auto at = [&](std::size_t panel) {
      return out_.values.data() + (panel * in_.rows + row) * in_.columns * kPanel;
    };
    const std::size_t middle = (out_.panels - 1) / 2;
    const std::vector<float> reference = means(at(middle), in_.columns, count(middle));
    for (std::size_t panel = 0; panel < out_.panels; ++panel) {
      subtract_from_rows(reference.data(), in_.columns, at(panel));
    }
  }

  const TensorSlices& in_;
  SlicePanels& out_;
};

}  // namespace

SlicePanels make_panels(const TensorSlices& slices, AbsentEntries absent) {
  SlicePanels result{slices.slices, panel_count(slices.slices), slices.rows, slices.columns, {}, {}, {}};
  const std::size_t size = result.panels * slices.rows * slices.columns * kPanel;
  result.values = Buffer<float>(size);
  if (differs_between_slices(slices, absent)) {
    result.present = Buffer<float>(size);
  } else if (slices.present != nullptr && absent == AbsentEntries::kLeftOut) {
    result.common = Buffer<float>(slices.rows * slices.columns);
    for (std::size_t i = 0; i < result.common.size(); ++i) {
      const std::size_t row = i / slices.columns;
      const std::size_t column = i % slices.columns;
      result.common.data()[i] =
          slices.present[row * slices.present_row_stride + column * slices.present_column_stride] != 0 ? 1.0F : 0.0F;
    }
  }
  const RowMaker maker(slices, result);
  parallel_for(slices.rows, [&](std::size_t row) { maker.make(row); });
  return result;
}

std::size_t panel_bytes(const TensorSlices& slices, AbsentEntries absent) {
  const std::size_t numbers = panel_count(slices.slices) * kPanel * slices.rows * slices.columns;
  return numbers * sizeof(float) * (differs_between_slices(slices, absent) ? 2 : 1);
}

}  // namespace headscope
