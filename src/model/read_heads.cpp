#include "model/read_heads.h"

#include <algorithm>

#include "headscope/base/parallel.h"
#include "headscope/linalg/transpose.h"
#include "model/block_scale.h"
#include "model/first_non_finite.h"
#include "model/storage_noise.h"

namespace headscope {
namespace {

// Reads one tensor.
class Reader {
 public:
  Reader(const Checkpoint& checkpoint, std::span<HeadRequest> requests)
      : tensor_(*requests.front().slice.tensor),
        requests_(requests),
        head_axis_(requests.front().slice.head_axis),
        d_model_(tensor_.shape[1 - head_axis_]),
        block_(block_of(tensor_)),
        scale_(checkpoint, tensor_, requests.front().slice.block_scale) {
    for (HeadRequest& request : requests) {
      const std::size_t size = request.heads * request.width * d_model_;
      if (request.recycled.size() != size) {
        request.recycled = {};  // free the old buffer before allocating
        request.recycled = Buffer<float>(size);
      }
      out_.push_back(std::move(request.recycled));
      if (has_spacings(tensor_)) {
        noise_.emplace_back(request.heads, d_model_, request.width, head_axis_ == 0 ? 1 : panels(), request.factors);
      }
    }
  }

  std::vector<ReadHeads> run(const Checkpoint& checkpoint) {
    if (head_axis_ == 0) {
      for (std::size_t r = 0; r < requests_.size(); ++r) {
        parallel_for(requests_[r].heads, [&](std::size_t head) { copy_rows(r, head); });
      }
    } else {
      parallel_for(panels(), [this](std::size_t panel) { transpose_panel(panel); });
    }
    non_finite_.report(checkpoint, tensor_);
    std::vector<ReadHeads> result;
    for (Buffer<float>& values : out_) result.push_back({std::move(values)});
    for (std::size_t r = 0; r < noise_.size(); ++r) result[r].noise = noise_[r].bounds(tensor_.dtype);
    return result;
  }

 private:
  // 64 rows fill four whole cache lines of each row of the transpose. Tiles have long rows, so that memory is read
  // sequentially; a tile fills half of the L2 cache. The number of columns is a multiple of every GGUF block size.
  // Measured on GPT-2's fused tensor: 64 x 256 takes 1.5 times as long, 16 x 2304 takes 1.2 times as long.
  static constexpr std::size_t kTileRows = 64;
  static constexpr std::size_t kTileColumns = 2304;
  // Rows a power of two apart map to few cache sets and evict each other.
  static constexpr std::size_t kTileStride = kTileColumns + 16;

  [[nodiscard]] std::size_t panels() const noexcept { return (d_model_ + kTileRows - 1) / kTileRows; }

  // Returns the spacings of the stored type at the values; nothing if their noise is not asked for. They are valid
  // until this thread's next call.
  std::span<const float> decode_row(std::size_t row, std::size_t first_column, std::span<float> values) {
    thread_local std::vector<float> spacings;
    spacings.resize(noise_.empty() ? 0 : values.size());
    decode_part(tensor_, row * tensor_.shape[1] + first_column, values, spacings);
    scale_.apply(row, first_column, spacings);
    scale_.apply(row, first_column, values);
    non_finite_.look(values, row * tensor_.shape[1] + first_column);
    return noise_.empty() ? std::span<const float>() : spacings;
  }

  // The tensor's rows are the columns of the head's matrix.
  void copy_rows(std::size_t request, std::size_t head) {
    const HeadSlice& slice = requests_[request].slice;
    const std::size_t width = requests_[request].width;
    for (std::size_t j = 0; j < width; ++j) {
      const auto spacings = decode_row(slice.first_of(head) + j, 0,
                                       out_[request].values().subspan((head * width + j) * d_model_, d_model_));
      if (!noise_.empty()) noise_[request].add_column(head, j, spacings);
    }
  }

  // Transposes some of the tensor's rows, each of which crosses the columns of all heads.
  void transpose_panel(std::size_t panel) {
    const std::size_t first_row = panel * kTileRows;
    const std::size_t rows = std::min(kTileRows, d_model_ - first_row);
    std::size_t begin = tensor_.shape[1];
    std::size_t end = 0;
    for (const HeadRequest& request : requests_) {
      begin = std::min(begin, request.slice.first / block_ * block_);
      end = std::max(end, request.slice.first_of(request.heads - 1) + request.width);
    }
    for (std::size_t column = begin; column < end; column += kTileColumns) {
      const std::size_t whole_blocks = (end - column + block_ - 1) / block_;
      transpose_tile(first_row, rows, column,
                     std::min({kTileColumns, tensor_.shape[1] - column, whole_blocks * block_}));
    }
  }

  void transpose_tile(std::size_t first_row, std::size_t rows, std::size_t first_column, std::size_t columns) {
    thread_local Buffer<float> tile(kTileRows * kTileStride);
    for (std::size_t i = 0; i < rows; ++i) {
      const auto spacings = decode_row(first_row + i, first_column, tile.values().subspan(i * kTileStride, columns));
      for (std::size_t r = 0; r < noise_.size(); ++r) {
        for_each_head(r, first_column, first_column + columns, [&](std::size_t head, std::size_t j, Range part) {
          noise_[r].add_row(first_row / kTileRows, first_row + i, head, j,
                            spacings.subspan(part.from - first_column, part.to - part.from));
        });
      }
    }
    for (std::size_t r = 0; r < requests_.size(); ++r) {
      for_each_head(r, first_column, first_column + columns, [&](std::size_t head, std::size_t j, Range part) {
        transpose(tile.data() + (part.from - first_column), kTileStride, rows, part.to - part.from,
                  out_[r].data() + (head * requests_[r].width + j) * d_model_ + first_row, d_model_);
      });
    }
  }

  struct Range {
    std::size_t from;
    std::size_t to;
  };

  // Calls act(head, j, part) for the part of each of a request's heads that lies in the tensor's columns [begin, end);
  // it starts at the head's column j.
  template <typename Act>
  void for_each_head(std::size_t request, std::size_t begin, std::size_t end, const Act& act) const {
    const HeadSlice& slice = requests_[request].slice;
    std::size_t head = begin < slice.first || slice.group > 0 ? 0 : (begin - slice.first) / slice.stride;
    for (; head < requests_[request].heads && slice.first_of(head) < end; ++head) {
      const std::size_t head_begin = slice.first_of(head);
      const Range part{std::max(begin, head_begin), std::min(end, head_begin + requests_[request].width)};
      if (part.from < part.to) act(head, part.from - head_begin, part);
    }
  }

  const StoredTensor& tensor_;
  std::span<HeadRequest> requests_;
  std::size_t head_axis_;
  std::size_t d_model_;
  std::size_t block_;
  BlockScale scale_;
  FirstNonFinite non_finite_;
  std::vector<Buffer<float>> out_;
  std::vector<StorageNoise> noise_;  // by request; empty if the type is not narrow
};

}  // namespace

std::vector<ReadHeads> read_heads(const Checkpoint& checkpoint, std::span<HeadRequest> requests) {
  return Reader(checkpoint, requests).run(checkpoint);
}

}  // namespace headscope
