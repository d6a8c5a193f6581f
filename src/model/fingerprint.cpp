#include "headscope/model/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "headscope/base/hash.h"

namespace headscope {
namespace {

void add_json(Hash& hash, JsonValue value) {
  hash.add(static_cast<std::uint64_t>(value.kind()));
  if (const auto text = value.as_string()) hash.add(*text);
  if (const auto number = value.as_number()) hash.add(fmt::format("{}", *number));
  if (const auto truth = value.as_bool()) hash.add(*truth ? 1U : 0U);
  for (const JsonValue item : value.items()) add_json(hash, item);
  for (const auto [key, member] : value.members()) {
    hash.add(key);
    add_json(hash, member);
  }
}

void add_sample(Hash& hash, std::span<const std::byte> bytes) {
  constexpr std::size_t kPieces = 16;
  constexpr std::size_t kPiece = 64;
  if (bytes.size() <= kPieces * kPiece) return hash.add(bytes);
  for (std::size_t i = 0; i < kPieces; ++i)
    hash.add(bytes.subspan((bytes.size() - kPiece) / (kPieces - 1) * i, kPiece));
}

}  // namespace

std::string fingerprint(const Checkpoint& checkpoint) {
  Hash hash;
  add_json(hash, checkpoint.config());
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    hash.add(tensor->name);
    hash.add(info(tensor->dtype).name);
    for (const std::size_t extent : tensor->shape) hash.add(extent);
    add_sample(hash, tensor->bytes);
    checkpoint.release(*tensor);  // where the system maps 2 MB per page fault, the samples would map the whole file
  }
  return hash.digits();
}

}  // namespace headscope
