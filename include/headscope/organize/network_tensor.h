#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/base/ranks.h"
#include "headscope/base/shape.h"
#include "headscope/io/array_source.h"
#include "headscope/organize/tree_distance.h"

namespace headscope {

/// What the entries of a network tensor are.
enum class MapKind {
  kPattern,  ///< After the softmax. An absent entry counts as zero: no attention is zero attention.
  kScores,   ///< Scaled, before the softmax and the mask. Absent entries are skipped.
};

/// The axes of a network tensor, in storage order.
enum class TensorAxis : std::size_t { kHead = 0, kQuery = 1, kKey = 2 };
inline constexpr std::array<TensorAxis, 3> kTensorAxes = {TensorAxis::kHead, TensorAxis::kQuery, TensorAxis::kKey};
/// Returns "head", "query" or "key".
[[nodiscard]] std::string_view to_string(TensorAxis axis) noexcept;

/// The attention maps of many heads on one input: X[head, query, key], heads layer by layer, row-major.
struct NetworkTensor {
  std::array<std::size_t, 3> extents = {};  ///< Heads, queries, keys.
  Buffer<float> values;  ///< Zero where an entry is absent, unless `NetworkTensorOptions::keep_absent` was set.
  /// 1 where an entry is present: [query, key] if all heads share the mask, else [head, query, key]. Empty if all
  /// entries are present.
  std::vector<std::uint8_t> present;
  /// Whether `present` is [head, query, key]. Its size does not tell when a rank has one head (both shapes have the
  /// same size) or no heads (`present` is empty).
  bool mask_per_head = false;
  MapKind kind = MapKind::kPattern;
  std::vector<std::string> head_names;       ///< "L4H7", or "H7" if layers are not known.
  std::vector<std::size_t> query_positions;  ///< Position of each query in the input.
  std::vector<std::size_t> key_positions;
  /// Human-readable notes: what was skipped, which heads are constant, ...
  std::vector<std::string> notes;

  [[nodiscard]] std::size_t heads() const noexcept { return extents[0]; }
  [[nodiscard]] std::size_t queries() const noexcept { return extents[1]; }
  [[nodiscard]] std::size_t keys() const noexcept { return extents[2]; }
  /// Number of entries per head.
  [[nodiscard]] std::size_t map_size() const noexcept { return extents[1] * extents[2]; }
  [[nodiscard]] std::span<const float> map(std::size_t head) const noexcept {
    return values.values().subspan(head * map_size(), map_size());
  }
  /// Whether any entry may be absent, on this rank or another.
  [[nodiscard]] bool masked() const noexcept { return mask_per_head || !present.empty(); }
  /// Whether all heads share one mask.
  [[nodiscard]] bool shared_mask() const noexcept { return !mask_per_head && present.size() == map_size(); }
  /// The mask of one head, [query, key]. Empty if all entries are present.
  [[nodiscard]] std::span<const std::uint8_t> mask(std::size_t head) const noexcept {
    if (present.empty() || shared_mask()) return present;
    return std::span(present).subspan(head * map_size(), map_size());
  }
  [[nodiscard]] AbsentEntries absent() const noexcept {
    return kind == MapKind::kPattern ? AbsentEntries::kZero : AbsentEntries::kLeftOut;
  }

  /// Returns a view of the slices along `axis`; rows and columns are the other two axes, in order.
  [[nodiscard]] TensorSlices slices(TensorAxis axis) const noexcept;
};

/// Which entries are absent.
struct MaskChoice {
  enum class Kind {
    kNone,      ///< None.
    kCausal,    ///< Keys after their query: j > i + `first_query`.
    kZeros,     ///< Entries that are exactly zero.
    kExplicit,  ///< Entries where `values` is zero.
  };
  Kind kind = Kind::kNone;
  std::span<const float> values = {};  ///< For kExplicit: of shape [query, key] or of the same shape as the array.
  Shape shape = {};
  /// For kCausal: the key position of the array's first query. By default the last query is aligned with the last key.
  std::optional<std::size_t> first_query = {};
  std::optional<ArraySource> array = {};  ///< For kExplicit: used instead of `values` and `shape`.
};

struct NetworkTensorOptions {
  /// The order of the array's axes: hqk, lhqk (layer, head, query, key), qkh, or qk for a single map.
  std::string axes = "hqk";
  MapKind kind = MapKind::kPattern;
  MaskChoice mask = {};
  /// For hqk and qkh: heads per layer, if the array holds whole layers.
  std::optional<std::size_t> heads_per_layer = {};
  std::vector<std::string> head_names = {};  ///< Custom names for all heads of the array.
  std::vector<std::size_t> layers = {};      ///< Only these; all if empty.
  std::vector<std::size_t> heads = {};       ///< Only these heads of each layer (of all heads if layers are not known).
  std::optional<std::pair<std::size_t, std::size_t>> queries = {};  ///< Only the range [first, second).
  std::optional<std::pair<std::size_t, std::size_t>> keys = {};
  std::size_t skip_first = 0;  ///< Skips this many first tokens, as queries and as keys: attention sinks.
  /// Keeps the values of absent entries where they are finite; others become the mean of the present entries of their
  /// row. The mask does not change.
  bool keep_absent = false;
};

/// Builds a network tensor from an array, reading only the parts it needs. Error messages start with `where`, e.g.
/// the file name.
///
/// Not an error, but noted: a head with no present entry, or with the same value everywhere. A single head gives a
/// tensor of one map.
///
/// Collective. Each rank gets its share of the selected heads, partition_range(selected heads, rank, ranks), possibly
/// none. If heads come before queries and keys in the array, a rank reads only its own heads. Whether there is a mask,
/// whether heads share it, and the notes describe the whole tensor.
///
/// \throws Error  On all ranks: kInvalidArgument if `axes` is none of the above or the selection does not exist;
///                kFormat if the shape of the array or mask does not match the axes, `heads_per_layer` or `head_names`
///                does not match the number of heads, or a query or key has no present entry in any head; kUnsupported
///                if fewer than two queries or keys are left. Only on the rank that finds it: kNumeric if a present
///                entry is NaN or infinite, and errors from reading the array.
[[nodiscard]] NetworkTensor make_network_tensor(const ArraySource& array, const NetworkTensorOptions& options,
                                                std::string_view where, Ranks& ranks = one_rank());
/// The same for an array in memory, in C order.
/// \throws Error  also kInvalidArgument if the number of values does not match the shape.
[[nodiscard]] NetworkTensor make_network_tensor(std::span<const float> values, std::span<const std::size_t> shape,
                                                const NetworkTensorOptions& options, std::string_view where,
                                                Ranks& ranks = one_rank());

/// Returns the values with absent entries replaced by a neutral value that adds no contrast, for transforms that need a
/// full tensor: zero for patterns, the mean of the head's present entries for scores.
[[nodiscard]] Buffer<float> filled_values(const NetworkTensor& tensor);
/// The same into an existing buffer, which is reallocated only if its size differs.
void fill_values(const NetworkTensor& tensor, Buffer<float>& result);
/// The same for one head.
void fill_map(const NetworkTensor& tensor, std::size_t head, std::span<float> result);
/// The same for one head, in double.
[[nodiscard]] std::vector<double> filled_map(const NetworkTensor& tensor, std::size_t head);

}  // namespace headscope
