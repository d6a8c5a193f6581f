#include "headscope/model/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "headscope/base/hash.h"
#include "headscope/base/parallel.h"
#include "headscope/io/read_ahead.h"

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

// Adds pieces of 64 bytes at even intervals.
void add_sample(Hash& hash, std::span<const std::byte> bytes, std::size_t pieces) {
  constexpr std::size_t kPiece = 64;
  if (bytes.size() <= pieces * kPiece) return hash.add(bytes);
  const WithoutReadAhead guard(bytes);
  for (std::size_t i = 0; i < pieces; ++i) hash.add(bytes.subspan((bytes.size() - kPiece) / (pieces - 1) * i, kPiece));
}

// Adds 1 kB in each of up to 1024 rows at even intervals. Heads lie along rows or along columns: multiples of the
// golden ratio, modulo 1, place the pieces evenly along the columns, whatever the interval of the rows is.
void add_rows(Hash& hash, std::span<const std::byte> bytes, std::size_t rows) {
  constexpr std::size_t kRows = 1024;
  constexpr std::size_t kPiece = 1024;
  constexpr std::uint64_t kGolden = 0x9E3779B9U;  // 2^32 / golden ratio
  if (rows == 0 || bytes.size() <= kRows * kPiece) return hash.add(bytes);
  const WithoutReadAhead guard(bytes);
  const std::size_t pitch = bytes.size() / rows;
  const std::size_t sampled = std::min(rows, kRows);
  const std::size_t size = std::min(pitch, kPiece);
  for (std::size_t i = 0; i < sampled; ++i) {
    const std::uint64_t place = i * kGolden & 0xFFFFFFFFU;
    const std::size_t column = (place * (pitch - size)) >> 32U;
    hash.add(bytes.subspan(i * rows / sampled * pitch + column, size));
  }
}

// Adds all bytes. Chunks are hashed on all threads, 32 bytes at a time: a byte at a time, the hash would take as long
// as the analysis.
void add_all(Hash& hash, std::span<const std::byte> bytes) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  std::vector<std::uint64_t> chunks((bytes.size() + kChunk - 1) / kChunk);
  parallel_for(chunks.size(), [&](std::size_t i) {
    std::span<const std::byte> rest = bytes.subspan(i * kChunk, std::min(kChunk, bytes.size() - i * kChunk));
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
    std::array<std::uint64_t, 4> lanes = {1, 2, 3, 4};
    for (; rest.size() >= sizeof lanes; rest = rest.subspan(sizeof lanes)) {
      std::array<std::uint64_t, 4> words;
      std::memcpy(words.data(), rest.data(), sizeof words);
      for (std::size_t k = 0; k < lanes.size(); ++k) {
        lanes[k] = (lanes[k] ^ words[k]) * kFactor;
        lanes[k] ^= lanes[k] >> 29U;  // otherwise the high bits of a word never affect the low bits
      }
    }
    Hash end;
    for (const std::uint64_t lane : lanes) end.add(lane);
    end.add(rest);
    chunks[i] = end.value();
  });
  for (const std::uint64_t chunk : chunks) hash.add(chunk);
}

std::set<const StoredTensor*> head_tensors(const HeadMap& map) {
  std::set<const StoredTensor*> tensors;
  const auto add = [&](const HeadSlice& slice) {
    tensors.insert({slice.tensor, slice.block_scale});
    if (slice.tensor == nullptr || slice.tensor->packed == nullptr) return;
    tensors.insert(slice.tensor->packed->parts.begin(), slice.tensor->packed->parts.end());
  };
  for (const LayerTensors& layer : map.layers) {
    tensors.insert({layer.norm_gain, layer.memory_gain, layer.output_scale});
    for (const HeadSlice& slice : layer.slices) add(slice);
    if (!layer.latent) continue;
    for (const LatentFactor* factor : {&layer.latent->query, &layer.latent->key_value}) {
      add(factor->down);
      tensors.insert(factor->gain);
    }
  }
  return tensors;
}

std::size_t rows_of(const StoredTensor& tensor) {
  return tensor.shape.empty() ? 1 : tensor.shape.front();
}

// The number of samples of one tensor: `most`, or fewer if there are many tensors. All samples must not take minutes.
std::size_t samples_per_tensor(const Checkpoint& checkpoint, std::size_t most) {
  const std::size_t in_all = 512 * most;
  return std::clamp<std::size_t>(in_all / std::max<std::size_t>(checkpoint.tensors().size(), 1), 2, most);
}

template <typename AddBytes>
std::string hash_of(const Checkpoint& checkpoint, const AddBytes& add_bytes) {
  Hash hash;
  add_json(hash, checkpoint.config());
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    hash.add(tensor->name);
    hash.add(info(tensor->dtype).name);
    for (const std::size_t extent : tensor->shape) hash.add(extent);
    if (tensor->packed != nullptr) {
      for (const StoredTensor* part : tensor->packed->parts) {
        hash.add(part->name);
        add_bytes(hash, *part);
      }
    }
    add_bytes(hash, *tensor);
    checkpoint.release(*tensor);  // where the system maps 2 MB per page fault, samples would map the whole file
  }
  return hash.digits();
}

}  // namespace

std::string fingerprint(const Model& model) {
  constexpr std::size_t kMaxWhole = std::size_t{1} << 30;
  const std::set<const StoredTensor*> heads = head_tensors(model.head_map());
  std::size_t bytes_of_heads = 0;
  for (const StoredTensor* tensor : heads) bytes_of_heads += tensor == nullptr ? 0 : tensor->bytes.size();
  const std::size_t most = samples_per_tensor(model.checkpoint(), 256);
  return hash_of(model.checkpoint(), [&](Hash& hash, const StoredTensor& tensor) {
    if (!heads.contains(&tensor)) {
      return add_sample(hash, tensor.bytes, std::clamp(rows_of(tensor), std::min<std::size_t>(16, most), most));
    }
    if (bytes_of_heads <= kMaxWhole) return add_all(hash, tensor.bytes);
    add_rows(hash, tensor.bytes, rows_of(tensor));
  });
}

std::string sampled_fingerprint(const Checkpoint& checkpoint) {
  const std::size_t samples = samples_per_tensor(checkpoint, 16);
  return hash_of(checkpoint, [&](Hash& hash, const StoredTensor& tensor) { add_sample(hash, tensor.bytes, samples); });
}

}  // namespace headscope
