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
  kPattern,  ///< After the softmax. An absent entry counts as zero: no attention is attention zero.
  kScores,   ///< Before the softmax and the mask, scaled. An absent entry is left out.
};

/// The axes of a network tensor, in their order.
enum class TensorAxis : std::size_t { kHead = 0, kQuery = 1, kKey = 2 };
inline constexpr std::array<TensorAxis, 3> kTensorAxes = {TensorAxis::kHead, TensorAxis::kQuery, TensorAxis::kKey};
/// "head", "query", "key".
[[nodiscard]] std::string_view to_string(TensorAxis axis) noexcept;

/// The attention maps of many heads on one input: X[head, query, key], heads layer by layer, row-major.
struct NetworkTensor {
  std::array<std::size_t, 3> extents = {};  ///< Heads, queries, keys.
  Buffer<float> values;                     ///< Zero where an entry is absent, unless that was asked otherwise.
  /// 1 where an entry is present: [query, key] for all heads, or [head, query, key]. Empty: everything is.
  std::vector<std::uint8_t> present;
  /// Says that `present` is [head, query, key] also where it could be either, in the part of a rank that has one head,
  /// and where it is empty as that rank has none.
  bool mask_per_head = false;
  MapKind kind = MapKind::kPattern;
  std::vector<std::string> head_names;       ///< "L4H7", or "H7" where layers are not known.
  std::vector<std::size_t> query_positions;  ///< Where in the input each query stands.
  std::vector<std::size_t> key_positions;
  /// For a person: what was left out, what is constant, ...
  std::vector<std::string> notes;

  [[nodiscard]] std::size_t heads() const noexcept { return extents[0]; }
  [[nodiscard]] std::size_t queries() const noexcept { return extents[1]; }
  [[nodiscard]] std::size_t keys() const noexcept { return extents[2]; }
  /// Entries of one head.
  [[nodiscard]] std::size_t map_size() const noexcept { return extents[1] * extents[2]; }
  [[nodiscard]] std::span<const float> map(std::size_t head) const noexcept {
    return values.values().subspan(head * map_size(), map_size());
  }
  /// Whether an entry may be absent, in this part or that of another rank.
  [[nodiscard]] bool masked() const noexcept { return mask_per_head || !present.empty(); }
  /// Whether all heads have the same mask.
  [[nodiscard]] bool shared_mask() const noexcept { return !mask_per_head && present.size() == map_size(); }
  /// The mask of one head, [query, key]; empty if everything is present.
  [[nodiscard]] std::span<const std::uint8_t> mask(std::size_t head) const noexcept {
    if (present.empty() || shared_mask()) return present;
    return std::span(present).subspan(head * map_size(), map_size());
  }
  [[nodiscard]] AbsentEntries absent() const noexcept {
    return kind == MapKind::kPattern ? AbsentEntries::kZero : AbsentEntries::kLeftOut;
  }

  /// The slices along an axis; rows and columns are the other two, in their order.
  [[nodiscard]] TensorSlices slices(TensorAxis axis) const noexcept;
};

/// Which entries are absent.
struct MaskChoice {
  enum class Kind {
    kNone,      ///< None.
    kCausal,    ///< Keys after their query: j > i + `first_query`.
    kZeros,     ///< Those that are exactly zero.
    kExplicit,  ///< Those where `values` is zero.
  };
  Kind kind = Kind::kNone;
  std::span<const float> values = {};  ///< For kExplicit: of the shape [query, key], or that of the array itself.
  Shape shape = {};
  /// For kCausal: which key the first query of the array is. By default the last query is the last key.
  std::optional<std::size_t> first_query = {};
  std::optional<ArraySource> array = {};  ///< For kExplicit: in place of `values` and `shape`.
};

struct NetworkTensorOptions {
  /// The order of the array's axes: hqk, lhqk (layer, head, query, key), qkh, or qk for a single map.
  std::string axes = "hqk";
  MapKind kind = MapKind::kPattern;
  MaskChoice mask = {};
  /// For hqk and qkh: how many heads each layer has, if the heads are those of whole layers.
  std::optional<std::size_t> heads_per_layer = {};
  std::vector<std::string> head_names = {};  ///< Of all heads of the array, if they have names of their own.
  std::vector<std::size_t> layers = {};      ///< Only these; all if empty.
  std::vector<std::size_t> heads = {};       ///< Only these of each layer (of all, where layers are not known).
  std::optional<std::pair<std::size_t, std::size_t>> queries = {};  ///< Only those from first up to, not with, second.
  std::optional<std::pair<std::size_t, std::size_t>> keys = {};
  std::size_t skip_first = 0;  ///< Leaves out so many first tokens, as queries and as keys: attention sinks.
  /// Absent entries keep their values, where those are finite, and are the mean of the present ones of their row
  /// elsewhere. The mask stays the same.
  bool keep_absent = false;
};

/// Makes a network tensor of an array, of which it reads what it takes. `where` begins the message of every error, e.g.
/// the file's name.
///
/// Handled and noted: a head without a present entry or with one value throughout. One head gives a tensor of one map.
///
/// With several ranks this one gets its share of the chosen heads, share_of(chosen heads, rank, ranks), maybe none; it
/// reads no others where heads come before queries and keys. Whether there is a mask, whether heads share it, and the
/// notes are those of the whole. All ranks call it.
///
/// \throws Error  kInvalidArgument if the axes are none of the above, or something chosen does not exist;
///                kFormat if array or mask have a shape that does not fit the axes, or a query or key has no
///                present entry in any head; kUnsupported if fewer than two queries or keys are left: on all ranks;
///                kNumeric if a present entry is NaN or infinite, and what reading throws: on the rank that meets it.
[[nodiscard]] NetworkTensor make_network_tensor(const ArraySource& array, const NetworkTensorOptions& options,
                                                std::string_view where, Ranks& ranks = one_rank());
/// The same of an array in memory, in C order.
/// \throws Error  kInvalidArgument also if the values do not fill the shape.
[[nodiscard]] NetworkTensor make_network_tensor(std::span<const float> values, std::span<const std::size_t> shape,
                                                const NetworkTensorOptions& options, std::string_view where,
                                                Ranks& ranks = one_rank());

/// The values with something in place of absent entries that makes no contrast of its own, for transforms that need a
/// whole tensor: zero for patterns; for scores the mean of what is present in the head.
[[nodiscard]] Buffer<float> filled_values(const NetworkTensor& tensor);
/// The same into memory that is used again.
void fill_values(const NetworkTensor& tensor, Buffer<float>& result);
/// The same for one head.
void fill_map(const NetworkTensor& tensor, std::size_t head, std::span<float> result);
/// The same for one head, in double.
[[nodiscard]] std::vector<double> filled_map(const NetworkTensor& tensor, std::size_t head);

}  // namespace headscope
