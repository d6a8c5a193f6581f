#include "organize/slice_panels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/linalg/transpose.h"

namespace headscope {
namespace {

std::size_t panel_count(std::size_t slices) {
  return (slices + kPanel - 1) / kPanel;
}

std::size_t panels_for(const TensorSlices& slices, const PanelOptions& options) {
  return slices.slices == 0 ? 0 : panel_count(options.before + slices.slices);
}

void copy_row(const TensorSlices& in, std::size_t first, std::size_t count, std::size_t row, float* out) {
  const float* from = in.values + first * in.slice_stride + row * in.row_stride;
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

// Sets absent entries to zero, and stores presence if requested.
void apply_mask(const TensorSlices& in, std::size_t first, std::size_t count, std::size_t row, float* values,
                float* present) {
  const std::uint8_t* from = in.present + first * in.present_slice_stride + row * in.present_row_stride;
  for (std::size_t c = 0; c < in.columns; ++c) {
    for (std::size_t s = 0; s < count; ++s) {
      const bool is_present = from[s * in.present_slice_stride + c * in.present_column_stride] != 0;
      if (!is_present) values[c * kPanel + s] = 0;
      if (present != nullptr) present[c * kPanel + s] = is_present ? 1.0F : 0.0F;
    }
  }
}

// The mean of each entry of a row over the slices of one panel.
std::vector<float> means(const float* values, std::size_t columns, std::size_t count) {
  std::vector<float> result(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    double sum = 0;
    for (std::size_t s = 0; s < count; ++s) sum += static_cast<double>(values[c * kPanel + s]);
    result[c] = static_cast<float>(sum / static_cast<double>(count));
  }
  return result;
}

// Fills one row of all panels.
class RowMaker {
 public:
  RowMaker(const TensorSlices& in, const PanelOptions& options, SlicePanels& out)
      : in_(in), options_(options), out_(out) {}

  // Returns the largest magnitude of the row.
  [[nodiscard]] float make(std::size_t row) const {
    for (std::size_t panel = 0; panel < out_.panels; ++panel) {
      const Places places = places_in(panel);
      float* values = at(out_.values, panel, row);
      if (places.count < kPanel) std::fill(values, values + in_.columns * kPanel, 0.0F);
      copy_row(in_, places.slice, places.count, row, values + places.begin);
      if (in_.present == nullptr) continue;
      float* present = options_.presence ? at(out_.present, panel, row) : nullptr;
      if (present != nullptr) std::fill(present, present + in_.columns * kPanel, 0.0F);
      apply_mask(in_, places.slice, places.count, row, values + places.begin,
                 present == nullptr ? nullptr : present + places.begin);
    }
    if (!options_.presence) center(row);
    float largest = 0;
    for (std::size_t panel = 0; panel < out_.panels; ++panel) largest = std::max(largest, largest_in(panel, row));
    return largest;
  }

 private:
  // The places of a panel that have a slice, and the first of these slices.
  struct Places {
    std::size_t begin;
    std::size_t count;
    std::size_t slice;
  };
  [[nodiscard]] Places places_in(std::size_t panel) const noexcept {
    const std::size_t begin = panel == 0 ? options_.before : 0;
    const std::size_t slice = panel * kPanel + begin - options_.before;
    return {begin, std::min(kPanel - begin, in_.slices - slice), slice};
  }
  [[nodiscard]] float* at(Buffer<float>& of, std::size_t panel, std::size_t row) const noexcept {
    return of.data() + (panel * in_.rows + row) * in_.columns * kPanel;
  }

  [[nodiscard]] float largest_in(std::size_t panel, std::size_t row) const {
    const Places places = places_in(panel);
    const float* values = at(out_.values, panel, row);
    if (places.count == kPanel) return largest_magnitude(values, in_.columns);
    float largest = 0;
    for (std::size_t c = 0; c < in_.columns; ++c) {
      for (std::size_t s = places.begin; s < places.begin + places.count; ++s) {
        largest = std::max(largest, std::abs(values[c * kPanel + s]));
      }
    }
    return largest;
  }

  void center(std::size_t row) const {
    std::vector<float> own;
    if (options_.reference.empty()) {
      const std::size_t middle = middle_panel(in_.slices).begin / kPanel;
      own = means(at(out_.values, middle, row), in_.columns, places_in(middle).count);
    }
    const float* reference = own.empty() ? options_.reference.data() + row * in_.columns : own.data();
    for (std::size_t panel = 0; panel < out_.panels; ++panel) {
      subtract_from_rows(reference, in_.columns, at(out_.values, panel, row));
    }
  }

  const TensorSlices& in_;
  const PanelOptions& options_;
  SlicePanels& out_;
};

}  // namespace

SliceForm slice_form(const TensorSlices& slices, AbsentEntries absent) {
  SliceForm form{slices.slices, slices.rows, slices.columns};
  if (slices.present == nullptr || absent == AbsentEntries::kZero) return form;
  form.masked = slices.present_slice_stride != 0;
  if (form.masked) return form;
  form.common = Buffer<float>(slices.rows * slices.columns);
  for (std::size_t i = 0; i < form.common.size(); ++i) {
    const std::size_t row = i / slices.columns;
    const std::size_t column = i % slices.columns;
    form.common.data()[i] =
        slices.present[row * slices.present_row_stride + column * slices.present_column_stride] != 0 ? 1.0F : 0.0F;
  }
  return form;
}

SlicePanels make_panels(const TensorSlices& slices, const PanelOptions& options) {
  SlicePanels result{panels_for(slices, options), slices.rows, slices.columns, {}, {}};
  const std::size_t size = result.panels * slices.rows * slices.columns * kPanel;
  result.values = Buffer<float>(size);
  if (options.presence) result.present = Buffer<float>(size);
  const RowMaker maker(slices, options, result);
  std::vector<float> largest(slices.rows);
  parallel_for(slices.rows, [&](std::size_t row) { largest[row] = maker.make(row); });
  for (const float of_row : largest) result.largest = std::max(result.largest, of_row);
  return result;
}

std::size_t panel_bytes(const TensorSlices& slices, const PanelOptions& options) {
  return panels_for(slices, options) * kPanel * slices.rows * slices.columns * sizeof(float) *
         (options.presence ? 2 : 1);
}

IndexRange middle_panel(std::size_t slices) noexcept {
  const std::size_t first = (panel_count(slices) - 1) / 2 * kPanel;
  return {first, std::min(first + kPanel, slices)};
}

}  // namespace headscope
