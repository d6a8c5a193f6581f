#include "model/read_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/io/decode.h"
#include "headscope/linalg/transpose.h"

namespace headscope {
namespace {

// Remembers the smallest index of a number that is not finite, whichever thread finds it.
class FirstNonFinite {
 public:
  void look(std::span<const float> values, std::size_t index_of_first) {
    if (const auto found = find_non_finite(values)) {
      const std::size_t index = index_of_first + *found;
      std::size_t smallest = smallest_.load();
      while (index < smallest && !smallest_.compare_exchange_weak(smallest, index)) {
      }
    }
  }
  // Throws if `look` ever found one.
  void report(const Checkpoint& checkpoint, const StoredTensor& tensor) const {
    const std::size_t index = smallest_.load();
    if (index == kNone) return;
    Shape position(tensor.shape.size());
    std::size_t rest = index;
    for (std::size_t axis = position.size(); axis-- > 0;) {
      position[axis] = rest % tensor.shape[axis];
      rest /= tensor.shape[axis];
    }
    throw Error(ErrorKind::kNumeric,
                fmt::format("{}: tensor '{}' holds NaN or Inf at index {}, expected finite weights",
                            checkpoint.file_of(tensor).string(), printable(tensor.name), to_string(position)));
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::atomic<std::size_t> smallest_{kNone};
};

// FP8's factors, one a block: w = stored * factor.
class BlockScale {
 public:
  BlockScale(const Checkpoint& checkpoint, const HeadSlice& slice) {
    if (slice.block_scale == nullptr) return;
    values_ = read_vector(checkpoint, *slice.block_scale);
    if (values_.size() == 1) {
      block_ = slice.tensor->shape;
      columns_ = 1;
      return;
    }
    columns_ = slice.block_scale->shape[1];
    const JsonValue stated = checkpoint.config().find("quantization_config").find("weight_block_size");
    std::size_t axis = 0;
    for (const JsonValue item : stated.items()) {
      if (axis < 2) block_[axis++] = static_cast<std::size_t>(item.as_unsigned().value_or(0));
    }
    for (axis = 0; axis < 2; ++axis) {
      const std::size_t extent = slice.tensor->shape[axis];
      const std::size_t blocks = slice.block_scale->shape[axis];
      if (block_[axis] == 0 || (extent + block_[axis] - 1) / block_[axis] != blocks) {
        throw Error(
            ErrorKind::kFormat,
            fmt::format("{}: tensor '{}' is {}, expected one factor for every block of {} of {}",
                        checkpoint.file_of(*slice.block_scale).string(), printable(slice.block_scale->name),
                        to_string(slice.block_scale->shape), to_string(block_), to_string(slice.tensor->shape)));
      }
    }
  }

  // Multiplies part of one row of the tensor.
  void apply(std::size_t row, std::size_t first_column, std::span<float> values) const {
    if (values_.empty()) return;
    const float* factors = values_.data() + row / block_[0] * columns_;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= factors[(first_column + i) / block_[1]];
  }

 private:
  std::vector<float> values_;
  Shape block_ = {128, 128};
  std::size_t columns_ = 0;
};

// One read of one tensor.
class Reader {
 public:
  Reader(const Checkpoint& checkpoint, std::span<HeadRequest> requests, std::size_t d_head)
      : tensor_(*requests.front().slice.tensor),
        requests_(requests),
        head_axis_(requests.front().slice.head_axis),
        d_head_(d_head),
        d_model_(tensor_.shape[1 - head_axis_]),
        block_(info(tensor_.dtype)),
        row_bytes_(tensor_.shape[1] / block_.block_elements * block_.block_bytes),
        scale_(checkpoint, requests.front().slice) {
    for (HeadRequest& request : requests) {
      const std::size_t size = request.heads * d_head * d_model_;
      out_.push_back(request.recycled.size() == size ? std::move(request.recycled) : Buffer<float>(size));
    }
  }

  std::vector<Buffer<float>> run(const Checkpoint& checkpoint) {
    if (head_axis_ == 0) {
      for (std::size_t r = 0; r < requests_.size(); ++r) {
        parallel_for(requests_[r].heads, [&](std::size_t head) { copy_rows(r, head); });
      }
    } else {
      parallel_for((d_model_ + kTileRows - 1) / kTileRows, [this](std::size_t panel) { transpose_panel(panel); });
    }
    non_finite_.report(checkpoint, tensor_);
    return std::move(out_);
  }

 private:
  // 64 rows make four whole cache lines of each row of the transpose. Their pieces are long, so that memory is read in
  // sequence: a tile fills half of the second-level cache. Columns are a multiple of every GGUF block. Tried on GPT-2's
  // fused tensor: 64 x 256 takes 1.5 times as long, 16 x 2304 1.2 times.
  static constexpr std::size_t kTileRows = 64;
  static constexpr std::size_t kTileColumns = 2304;
  // Rows a power of two apart fall into few sets of the cache and push each other out.
  static constexpr std::size_t kTileStride = kTileColumns + 16;

  void decode_row(std::size_t row, std::size_t first_column, std::span<float> values) {
    const std::size_t begin = row * row_bytes_ + first_column / block_.block_elements * block_.block_bytes;
    const std::size_t size = values.size() / block_.block_elements * block_.block_bytes;
    decode(tensor_.dtype, tensor_.bytes.subspan(begin, size), values);
    scale_.apply(row, first_column, values);
    non_finite_.look(values, row * tensor_.shape[1] + first_column);
  }

  // The tensor's rows are the matrix's columns.
  void copy_rows(std::size_t request, std::size_t head) {
    const HeadSlice& slice = requests_[request].slice;
    for (std::size_t j = 0; j < d_head_; ++j) {
      decode_row(slice.first + head * slice.stride + j, 0,
                 out_[request].values().subspan((head * d_head_ + j) * d_model_, d_model_));
    }
  }

  // Some of the tensor's rows, each of which crosses the columns of all heads.
  void transpose_panel(std::size_t panel) {
    const std::size_t first_row = panel * kTileRows;
    const std::size_t rows = std::min(kTileRows, d_model_ - first_row);
    std::size_t begin = tensor_.shape[1];
    std::size_t end = 0;
    for (const auto& [slice, heads, recycled] : requests_) {
      begin = std::min(begin, slice.first / block_.block_elements * block_.block_elements);
      end = std::max(end, slice.first + (heads - 1) * slice.stride + d_head_);
    }
    for (std::size_t column = begin; column < end; column += kTileColumns) {
      const std::size_t whole_blocks = (end - column + block_.block_elements - 1) / block_.block_elements;
      transpose_tile(first_row, rows, column,
                     std::min({kTileColumns, tensor_.shape[1] - column, whole_blocks * block_.block_elements}));
    }
  }

  void transpose_tile(std::size_t first_row, std::size_t rows, std::size_t first_column, std::size_t columns) {
    thread_local Buffer<float> tile(kTileRows * kTileStride);
    for (std::size_t i = 0; i < rows; ++i) {
      decode_row(first_row + i, first_column, tile.values().subspan(i * kTileStride, columns));
    }
    for (std::size_t r = 0; r < requests_.size(); ++r) {
      transpose_heads(r, tile.data(), first_row, rows, first_column, first_column + columns);
    }
  }

  // The part of each of a request's heads that a tile crosses.
  void transpose_heads(std::size_t request, const float* tile, std::size_t first_row, std::size_t rows,
                       std::size_t first_column, std::size_t end) {
    const auto& [slice, heads, recycled] = requests_[request];
    std::size_t head = first_column < slice.first ? 0 : (first_column - slice.first) / slice.stride;
    for (; head < heads && slice.first + head * slice.stride < end; ++head) {
      const std::size_t head_begin = slice.first + head * slice.stride;
      const std::size_t from = std::max(first_column, head_begin);
      const std::size_t to = std::min(end, head_begin + d_head_);
      if (from >= to) continue;
      transpose(tile + (from - first_column), kTileStride, rows, to - from,
                out_[request].data() + (head * d_head_ + from - head_begin) * d_model_ + first_row, d_model_);
    }
  }

  const StoredTensor& tensor_;
  std::span<HeadRequest> requests_;
  std::size_t head_axis_;
  std::size_t d_head_;
  std::size_t d_model_;
  const DTypeInfo& block_;
  std::size_t row_bytes_;
  BlockScale scale_;
  FirstNonFinite non_finite_;
  std::vector<Buffer<float>> out_;
};

}  // namespace

std::vector<Buffer<float>> read_heads(const Checkpoint& checkpoint, std::span<HeadRequest> requests,
                                      std::size_t d_head) {
  return Reader(checkpoint, requests, d_head).run(checkpoint);
}

std::vector<float> read_vector(const Checkpoint& checkpoint, const StoredTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(element_count(tensor.shape).value_or(0)));
  decode(tensor.dtype, tensor.bytes, values);
  FirstNonFinite non_finite;
  non_finite.look(values, 0);
  non_finite.report(checkpoint, tensor);
  return values;
}

}  // namespace headscope
