#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/io/decode.h"
#include "headscope/organize/network_tensor.h"
#include "organize/array_axes.h"
#include "organize/array_entries.h"

namespace headscope {
namespace {

constexpr std::size_t kNamed = 5;  // maximum number of names in a note

// What to read, the same on all ranks.
struct Plan {
  ArrayAxes axes;
  Selection chosen;
  std::optional<ArraySource> mask;  // entries that are zero in it are absent
  bool mask_is_map = false;         // its shape is [query, key]
};

Plan make_plan(const ArraySource& array, const NetworkTensorOptions& options, std::string_view where) {
  Plan plan;
  plan.axes = read_axes(array.shape(), options, where);
  plan.chosen = select(plan.axes, options, where);
  const MaskChoice& choice = options.mask;
  if (choice.kind == MaskChoice::Kind::kZeros) plan.mask = array;
  if (choice.kind != MaskChoice::Kind::kExplicit) return plan;
  plan.mask = choice.array ? *choice.array : ArraySource(choice.values, choice.shape);
  const Shape map = {plan.axes.queries, plan.axes.keys};
  plan.mask_is_map = plan.mask->shape() == map;
  if (!plan.mask_is_map && plan.mask->shape() != array.shape()) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: the mask is {}, expected {} (query, key) or the array's own {}", where,
                            to_string(plan.mask->shape()), to_string(map), to_string(array.shape())));
  }
  return plan;
}

// This rank's share of the selected heads.
Selection own_share(const Selection& chosen, const Ranks& ranks) {
  const IndexRange share = partition_range(chosen.heads.size(), ranks.rank(), ranks.size());
  const auto some = [&](const auto& list) {
    return std::vector(list.begin() + static_cast<std::ptrdiff_t>(share.begin),
                       list.begin() + static_cast<std::ptrdiff_t>(share.end));
  };
  return {some(chosen.heads), chosen.queries, chosen.keys, some(chosen.head_names)};
}

std::vector<std::uint8_t> causal_mask(const MaskChoice& choice, const ArrayAxes& axes, const Selection& chosen) {
  std::vector<std::uint8_t> mask;
  mask.reserve(chosen.queries.size() * chosen.keys.size());
  for (const std::size_t q : chosen.queries) {
    for (const std::size_t k : chosen.keys) {
      const bool seen = choice.first_query ? k <= q + *choice.first_query : k + axes.queries <= q + axes.keys;
      mask.push_back(seen ? 1 : 0);
    }
  }
  return mask;
}

// Sets the shared mask, or the masks of this rank's heads. A single head has a mask known to all ranks, as if it were
// shared.
void set_mask(const Plan& plan, const MaskChoice& choice, const Selection& own, NetworkTensor& tensor) {
  if (choice.kind == MaskChoice::Kind::kCausal) tensor.present = causal_mask(choice, plan.axes, plan.chosen);
  if (!plan.mask) return;
  tensor.mask_per_head = !plan.mask_is_map && plan.chosen.heads.size() > 1;
  ArrayAxes axes = plan.axes;
  if (plan.mask_is_map) axes = {1, axes.queries, axes.keys, 0, axes.keys, 1, 0};
  Selection read = tensor.mask_per_head ? own : plan.chosen;
  if (plan.mask_is_map) read.heads = {0};
  tensor.present.resize(read.heads.size() * tensor.map_size());
  read_entries<std::uint8_t>(*plan.mask, axes, read, tensor.present);
}

// Findings from a pass over all entries of a head.
struct HeadFindings {
  std::optional<std::size_t> not_finite;  // the first present entry that is NaN or infinite
  bool empty = false;                     // no entry is present
  bool constant = false;                  // all present entries are equal
};

HeadFindings inspect_map(std::span<const float> map, std::span<const std::uint8_t> mask) {
  const auto present = [&](std::size_t i) { return mask.empty() || mask[i] != 0; };
  HeadFindings found;
  std::size_t i = find_non_finite(map).value_or(map.size());
  while (i < map.size() && (std::isfinite(map[i]) || !present(i))) ++i;
  if (i < map.size()) found.not_finite = i;
  std::size_t first = 0;
  while (first < map.size() && !present(first)) ++first;
  found.empty = first == map.size();
  for (i = first; i < map.size() && (map[i] == map[first] || !present(i));) ++i;
  found.constant = !found.empty && i == map.size();
  return found;
}

std::vector<HeadFindings> look_at_heads(const NetworkTensor& tensor) {
  std::vector<HeadFindings> findings(tensor.heads());
  parallel_for(tensor.heads(), [&](std::size_t h) { findings[h] = inspect_map(tensor.map(h), tensor.mask(h)); });
  return findings;
}

// \throws kNumeric for the first present entry that is NaN or infinite.
void check_finite(const NetworkTensor& tensor, const std::vector<HeadFindings>& findings, std::string_view where) {
  for (std::size_t h = 0; h < tensor.heads(); ++h) {
    if (!findings[h].not_finite) continue;
    const std::size_t i = *findings[h].not_finite;
    throw Error(
        ErrorKind::kNumeric,
        fmt::format("{}: head {}, query {}, key {} is {}, expected a finite number; use a mask to mark absent entries",
                    where, tensor.head_names[h], tensor.query_positions[i / tensor.keys()],
                    tensor.key_positions[i % tensor.keys()], tensor.map(h)[i]));
  }
}

// Properties of the whole tensor that hold if they hold on any rank.
struct Flags {
  std::vector<std::uint8_t> absent = {0};  // some entry is absent
  std::vector<std::uint8_t> query;         // per query: it has a present entry; likewise for keys
  std::vector<std::uint8_t> key;
  std::vector<std::uint8_t> empty;  // per head, on any rank
  std::vector<std::uint8_t> constant;
};

// Finds which queries and keys have a present entry. For most masks, the first map shows that all do.
void find_present(const NetworkTensor& tensor, Flags& flags) {
  for (std::size_t row = 0; row * tensor.keys() < tensor.present.size(); ++row) {
    const std::uint8_t* entry = tensor.present.data() + row * tensor.keys();
    std::uint8_t any = 0;
    for (std::size_t k = 0; k < tensor.keys(); ++k) {
      any |= entry[k];
      flags.key[k] |= entry[k];
    }
    flags.query[row % tensor.queries()] |= any;
    if ((row + 1) % tensor.queries() != 0) continue;
    if (std::ranges::find(flags.query, 0) == flags.query.end() && std::ranges::find(flags.key, 0) == flags.key.end()) {
      return;
    }
  }
}

Flags own_flags(const NetworkTensor& tensor, const std::vector<HeadFindings>& findings, std::size_t heads,
                const IndexRange& share) {
  Flags flags;
  flags.query.resize(tensor.queries());
  flags.key.resize(tensor.keys());
  flags.empty.resize(heads);
  flags.constant.resize(heads);
  const std::vector<std::uint8_t>& present = tensor.present;
  if (!present.empty()) flags.absent[0] = std::memchr(present.data(), 0, present.size()) != nullptr ? 1 : 0;
  find_present(tensor, flags);
  for (std::size_t h = 0; h < findings.size(); ++h) {
    flags.empty[share.begin + h] = findings[h].empty ? 1 : 0;
    flags.constant[share.begin + h] = findings[h].constant ? 1 : 0;
  }
  return flags;
}

void combine(Flags& flags, Ranks& ranks) {
  if (ranks.size() == 1) return;
  const auto parts = {&flags.absent, &flags.query, &flags.key, &flags.empty, &flags.constant};
  std::vector<std::uint8_t> all;
  for (const auto* part : parts) all.insert(all.end(), part->begin(), part->end());
  all = ranks.all_reduce_or(std::move(all));
  auto from = all.cbegin();
  for (auto* part : parts) {
    const auto end = from + static_cast<std::ptrdiff_t>(part->size());
    part->assign(from, end);
    from = end;
  }
}

std::optional<Error> missing(const Flags& flags, const NetworkTensor& tensor, std::string_view where) {
  const auto complaint = [&](std::string_view axis, std::size_t position) {
    return Error(
        ErrorKind::kFormat,
        fmt::format("{}: {} {} has no present entry in any head; choose a range without it", where, axis, position));
  };
  for (std::size_t q = 0; q < flags.query.size(); ++q) {
    if (flags.query[q] == 0) return complaint("query", tensor.query_positions[q]);
  }
  for (std::size_t k = 0; k < flags.key.size(); ++k) {
    if (flags.key[k] == 0) return complaint("key", tensor.key_positions[k]);
  }
  return std::nullopt;
}

// Sets absent entries of a row to zero or, with `keep`, makes them finite.
void settle_row(std::span<float> row, std::span<const std::uint8_t> present, bool keep) {
  double sum = 0;
  double count = 0;
  for (std::size_t k = 0; keep && k < row.size(); ++k) {
    if (present[k] == 0) continue;
    sum += static_cast<double>(row[k]);
    ++count;
  }
  const float mean = count > 0 ? static_cast<float>(sum / count) : 0.0F;
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (present[k] != 0 || (keep && std::isfinite(row[k]))) continue;
    row[k] = mean;
  }
}

void settle_absent(NetworkTensor& tensor, bool keep) {
  if (tensor.present.empty()) return;
  const std::size_t keys = tensor.keys();
  parallel_for(tensor.heads(), [&](std::size_t h) {
    const auto mask = tensor.mask(h);
    const std::span<float> map = tensor.values.values().subspan(h * tensor.map_size(), tensor.map_size());
    for (std::size_t i = 0; i < map.size(); i += keys) settle_row(map.subspan(i, keys), mask.subspan(i, keys), keep);
  });
}

// "a, b, c and 4 more"
std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() <= kNamed ? text : fmt::format("{} and {} more", text, names.size() - kNamed);
}

std::vector<std::string> make_notes(const Flags& flags, const std::vector<std::string>& head_names,
                                    std::size_t skip_first) {
  std::vector<std::string> notes;
  if (skip_first > 0) {
    notes.push_back(fmt::format("the first {} left out, as queries and as keys; rows are not normalized again",
                                skip_first == 1 ? "token is" : fmt::format("{} tokens are", skip_first)));
  }
  const auto note = [&](std::string_view what, const std::vector<std::uint8_t>& which) {
    std::vector<std::string> names;
    for (std::size_t h = 0; h < which.size(); ++h) {
      if (which[h] != 0) names.push_back(head_names[h]);
    }
    if (!names.empty()) notes.push_back(fmt::format("{} in {}", what, some_of(names)));
  };
  note("no present entry", flags.empty);
  note("one value throughout", flags.constant);
  return notes;
}

}  // namespace

NetworkTensor make_network_tensor(const ArraySource& array, const NetworkTensorOptions& options, std::string_view where,
                                  Ranks& ranks) {
  const Plan plan = ranks.run_and_agree([&] { return make_plan(array, options, where); });
  const std::size_t heads = plan.chosen.heads.size();
  const Selection own = own_share(plan.chosen, ranks);
  NetworkTensor tensor;
  tensor.extents = {own.heads.size(), own.queries.size(), own.keys.size()};
  tensor.kind = options.kind;
  tensor.head_names = own.head_names;
  tensor.query_positions = own.queries;
  tensor.key_positions = own.keys;
  tensor.values = Buffer<float>(tensor.heads() * tensor.map_size());
  read_entries<float>(array, plan.axes, own, tensor.values.values());
  set_mask(plan, options.mask, own, tensor);
  const std::vector<HeadFindings> findings = look_at_heads(tensor);
  check_finite(tensor, findings, where);

  Flags flags = own_flags(tensor, findings, heads, partition_range(heads, ranks.rank(), ranks.size()));
  combine(flags, ranks);
  if (flags.absent[0] == 0) {
    tensor.present = {};
    tensor.mask_per_head = false;
  } else if (const auto failure = missing(flags, tensor, where)) {
    ranks.agree(failure);
  }
  settle_absent(tensor, options.keep_absent);
  tensor.notes = make_notes(flags, plan.chosen.head_names, options.skip_first);
  return tensor;
}

NetworkTensor make_network_tensor(std::span<const float> values, std::span<const std::size_t> shape,
                                  const NetworkTensorOptions& options, std::string_view where, Ranks& ranks) {
  const ArraySource array(values, Shape(shape.begin(), shape.end()));
  return make_network_tensor(array, options, where, ranks);
}

}  // namespace headscope
