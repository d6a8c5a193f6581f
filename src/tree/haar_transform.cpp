#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/linalg/transpose.h"
#include "headscope/tree/haar.h"
#include "tree/haar_rows.h"

namespace headscope {
namespace {

// Maximum size of a block of lines: about half of a second-level cache.
constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
constexpr std::size_t kMaxLines = 1024;
// Contiguous lines are transposed in blocks of kElements elements and kGroup lines. Few lines at a time: with a
// power-of-two stride they all map to the same few cache sets, and every line is a stream to prefetch.
constexpr std::size_t kElements = 64;
constexpr std::size_t kGroup = 16;
constexpr std::align_val_t kAlignment{64};

// Buffer aligned for SIMD loads.
template <typename T>
class Scratch {
 public:
  T* reserve(std::size_t count) {
    if (count > size_) {
      data_.reset(static_cast<T*>(::operator new(count * sizeof(T), kAlignment)));
      size_ = count;
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(T* data) const noexcept { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

void transpose_any(const float* in, std::size_t in_stride, std::size_t rows, std::size_t columns, float* out,
                   std::size_t out_stride) {
  transpose(in, in_stride, rows, columns, out, out_stride);
}

void transpose_any(const double* in, std::size_t in_stride, std::size_t rows, std::size_t columns, double* out,
                   std::size_t out_stride) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) out[j * out_stride + i] = in[i * in_stride + j];
  }
}

// The lines of an array [outer, n, inner], split into blocks of up to `width`.
template <typename T>
class Lines {
  static_assert(kHaarWidthUnit % kGroup == 0);

 public:
  Lines(std::size_t outer, const HaarBasis& basis, std::size_t inner)
      : Lines(outer, basis, inner, good_width(basis.size(), inner == 1 ? outer : inner)) {}
  Lines(std::size_t outer, const HaarBasis& basis, std::size_t inner, std::size_t width)
      : basis_(basis), n_(basis.size()), outer_(outer), inner_(inner), width_(width) {
    assert(width_ % kHaarWidthUnit == 0);
    const std::size_t lines = inner_ == 1 ? outer_ : inner_;
    across_ = (lines + width_ - 1) / width_;
  }

  [[nodiscard]] static std::size_t good_width(std::size_t n, std::size_t lines) noexcept {
    const std::size_t most = std::max(kHaarWidthUnit, kBlockBytes / (n * sizeof(T)));
    const std::size_t wanted = std::min<std::size_t>({most, lines, kMaxLines});
    return (wanted + kHaarWidthUnit - 1) / kHaarWidthUnit * kHaarWidthUnit;
  }

  [[nodiscard]] std::size_t blocks() const noexcept { return inner_ == 1 ? across_ : across_ * outer_; }
  [[nodiscard]] std::size_t width() const noexcept { return width_; }

  // Loads block `index` as rows [n, width]: element i goes to row `position(i, placed)`, missing lines are zero.
  void load(const T* values, std::size_t index, bool placed, T* rows) const {
    const auto [begin, count] = extent(index);
    if (inner_ == 1) return load_transposed(values + begin, count, placed, rows);
    for (std::size_t i = 0; i < n_; ++i) {
      T* row = rows + position(i, placed) * width_;
      std::memcpy(row, values + begin + i * inner_, count * sizeof(T));
      std::fill(row + count, row + width_, T{0});
    }
  }

  void store(const T* rows, std::size_t index, bool placed, T* values) const {
    const auto [begin, count] = extent(index);
    if (inner_ == 1) return store_transposed(rows, count, placed, values + begin);
    for (std::size_t i = 0; i < n_; ++i) {
      std::memcpy(values + begin + i * inner_, rows + position(i, placed) * width_, count * sizeof(T));
    }
  }

 private:
  struct Extent {
    std::size_t begin;  // offset of the block's first number in the array
    std::size_t count;  // number of lines
  };
  [[nodiscard]] Extent extent(std::size_t index) const noexcept {
    const std::size_t first = index % across_ * width_;
    if (inner_ == 1) return {first * n_, std::min(width_, outer_ - first)};
    return {index / across_ * n_ * inner_ + first, std::min(width_, inner_ - first)};
  }

  // Buffer for a group of lines, with a stride that spreads them over the cache: lines of 1024 floats all map to the
  // same few cache sets, and transposing them directly takes almost three times as long.
  [[nodiscard]] std::size_t staged_stride() const noexcept { return (n_ + 15) / 16 * 16 + 16; }
  T* staged() const {
    thread_local Scratch<T> scratch;
    return scratch.reserve(kGroup * staged_stride());
  }

  // The width is a multiple of the group size: missing lines of the last group become zeros.
  void load_transposed(const T* lines, std::size_t count, bool placed, T* rows) const {
    T* stage = staged();
    T chunk[kElements * kGroup];
    for (std::size_t line = 0; line < width_; line += kGroup) {
      for (std::size_t l = 0; l < kGroup; ++l) {
        T* to = stage + l * staged_stride();
        if (line + l < count) {
          std::memcpy(to, lines + (line + l) * n_, n_ * sizeof(T));
        } else {
          std::fill(to, to + n_, T{0});
        }
      }
      if (!placed) {
        transpose_any(stage, staged_stride(), kGroup, n_, rows + line, width_);
        continue;
      }
      for (std::size_t i = 0; i < n_; i += kElements) {
        const std::size_t elements = std::min(kElements, n_ - i);
        transpose_any(stage + i, staged_stride(), kGroup, elements, chunk, kGroup);
        for (std::size_t e = 0; e < elements; ++e) {
          std::memcpy(rows + position(i + e, placed) * width_ + line, chunk + e * kGroup, kGroup * sizeof(T));
        }
      }
    }
  }

  void store_transposed(const T* rows, std::size_t count, bool placed, T* lines) const {
    T* stage = staged();
    T chunk[kElements * kGroup];
    for (std::size_t line = 0; line < count; line += kGroup) {
      if (!placed) transpose_any(rows + line, width_, n_, kGroup, stage, staged_stride());
      for (std::size_t i = 0; placed && i < n_; i += kElements) {
        const std::size_t elements = std::min(kElements, n_ - i);
        for (std::size_t e = 0; e < elements; ++e) {
          std::memcpy(chunk + e * kGroup, rows + position(i + e, placed) * width_ + line, kGroup * sizeof(T));
        }
        transpose_any(chunk, kGroup, elements, kGroup, stage + i, staged_stride());
      }
      for (std::size_t l = 0; l < std::min(kGroup, count - line); ++l) {
        std::memcpy(lines + (line + l) * n_, stage + l * staged_stride(), n_ * sizeof(T));
      }
    }
  }

  [[nodiscard]] std::size_t position(std::size_t i, bool placed) const noexcept {
    return placed ? basis_.place()[i] : i;
  }

  const HaarBasis& basis_;
  std::size_t n_;
  std::size_t outer_;
  std::size_t inner_;
  std::size_t width_;
  std::size_t across_ = 0;  // number of blocks side by side
};

template <typename T>
void transform(std::span<T> values, std::size_t outer, const HaarBasis& basis, std::size_t inner,
               HaarDirection direction) {
  assert(values.size() == outer * basis.size() * inner);
  if (values.empty()) return;
  const Lines<T> lines(outer, basis, inner);
  const bool forward = direction == HaarDirection::kForward;
  parallel_for(lines.blocks(), [&](std::size_t index) {
    thread_local Scratch<T> scratch;
    T* rows = scratch.reserve(basis.size() * lines.width());
    lines.load(values.data(), index, forward, rows);
    reflect_rows(rows, lines.width(), basis.reflections(), !forward);
    lines.store(rows, index, !forward, values.data());
  });
}

// Sums of the magnitudes of the coefficients, one per block.
std::vector<double> block_sums(std::span<const float> values, const Lines<float>& lines, const HaarBasis& basis) {
  std::vector<double> sums(lines.blocks());
  parallel_for(lines.blocks(), [&](std::size_t index) {
    thread_local Scratch<float> scratch;
    float* rows = scratch.reserve(basis.size() * lines.width());
    lines.load(values.data(), index, /*placed=*/true, rows);
    reflect_rows(rows, lines.width(), basis.reflections(), /*backwards=*/false);
    sums[index] = sum_of_magnitudes(rows, basis.size(), lines.width());
  });
  return sums;
}

}  // namespace

void haar_transform(std::span<float> values, std::size_t outer, const HaarBasis& basis, std::size_t inner,
                    HaarDirection direction) {
  transform(values, outer, basis, inner, direction);
}

void haar_transform(std::span<double> values, std::size_t outer, const HaarBasis& basis, std::size_t inner,
                    HaarDirection direction) {
  transform(values, outer, basis, inner, direction);
}

double haar_l1(std::span<const float> values, std::size_t outer, const HaarBasis& basis, std::size_t inner) {
  assert(values.size() == outer * basis.size() * inner);
  if (values.empty()) return 0;
  const std::vector<double> sums = block_sums(values, Lines<float>(outer, basis, inner), basis);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

std::size_t haar_block_lines(const HaarBasis& basis, std::size_t inner) {
  return Lines<float>::good_width(basis.size(), inner);
}

std::vector<double> haar_l1_blocks(std::span<const float> values, const HaarBasis& basis, std::size_t inner,
                                   std::size_t lines) {
  assert(values.size() == basis.size() * inner);
  if (values.empty()) return {};
  return block_sums(values, Lines<float>(1, basis, inner, lines), basis);
}

}  // namespace headscope
