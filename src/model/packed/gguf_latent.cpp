#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/base/error.h"
#include "model/packed/decoders.h"

namespace headscope {
namespace {

constexpr std::string_view kKeys = ".attn_k_b.weight";
constexpr std::string_view kValues = ".attn_v_b.weight";
constexpr std::string_view kBoth = ".attn_kv_b.weight";

// One head's part of the keys' tensor, [rank, width], decoded and transposed.
struct DecodedHead {
  std::uint64_t reader = 0;
  std::size_t head = 0;
  std::vector<float> values = {};  // [width, rank]
  std::vector<float> spacings = {};
};

class Reader {
 public:
  Reader(const StoredTensor& keys, const StoredTensor& values)
      : number_(next_number()),
        keys_(&keys),
        values_(&values),
        rank_(keys.shape[1]),
        key_(keys.shape[2]),
        value_(values.shape[1]) {}

  void operator()(std::size_t row, std::size_t first, std::span<float> out, std::span<float> spacings) const {
    const std::size_t head = row / (key_ + value_);
    const std::size_t j = row % (key_ + value_);
    if (j >= key_) {
      // Blocks of a quantized type are decoded whole.
      std::vector<float> whole(rank_);
      std::vector<float> steps(spacings.empty() ? 0 : rank_);
      decode_part(*values_, (head * value_ + j - key_) * rank_, whole, steps);
      copy(whole, steps, first, out, spacings);
      return;
    }
    const DecodedHead& decoded = decode(head, !spacings.empty());
    const std::span<const float> steps(decoded.spacings);
    copy(std::span(decoded.values).subspan(j * rank_, rank_), steps.empty() ? steps : steps.subspan(j * rank_, rank_),
         first, out, spacings);
  }

 private:
  // Tells readers apart, whatever their addresses; not 0.
  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
  }

  static void copy(std::span<const float> whole, std::span<const float> steps, std::size_t first, std::span<float> out,
                   std::span<float> spacings) {
    std::ranges::copy(whole.subspan(first, out.size()), out.begin());
    if (!spacings.empty()) std::ranges::copy(steps.subspan(first, out.size()), spacings.begin());
  }

  // Rows are read in order, so that each head is decoded once per thread.
  const DecodedHead& decode(std::size_t head, bool wants_spacings) const {
    thread_local DecodedHead last;
    if (last.reader == number_ && last.head == head && (!wants_spacings || !last.spacings.empty())) return last;
    last.reader = 0;  // until it is whole
    std::vector<float> values(rank_ * key_);
    std::vector<float> steps(wants_spacings ? values.size() : 0);
    decode_part(*keys_, head * values.size(), values, steps);
    last.values.resize(values.size());
    last.spacings.resize(steps.size());
    for (std::size_t i = 0; i < rank_; ++i) {
      for (std::size_t j = 0; j < key_; ++j) last.values[j * rank_ + i] = values[i * key_ + j];
      for (std::size_t j = 0; j < key_ && wants_spacings; ++j) last.spacings[j * rank_ + i] = steps[i * key_ + j];
    }
    last.head = head;
    last.reader = number_;
    return last;
  }

  std::uint64_t number_;
  const StoredTensor* keys_;
  const StoredTensor* values_;
  std::size_t rank_;
  std::size_t key_;
  std::size_t value_;
};

}  // namespace

std::vector<StoredTensor> gguf_latent_weights(const Checkpoint& checkpoint) {
  std::vector<StoredTensor> weights;
  for (const StoredTensor* keys : checkpoint.tensors()) {
    if (!keys->name.ends_with(kKeys)) continue;
    const std::string layer = keys->name.substr(0, keys->name.size() - kKeys.size());
    const std::string name = layer + std::string(kBoth);
    const StoredTensor* values = checkpoint.find(layer + std::string(kValues));
    if (values == nullptr || checkpoint.find(name) != nullptr) continue;  // older files have the two in one
    const auto fail = [&](const std::string& what) {
      throw Error(ErrorKind::kFormat,
                  fmt::format("{}: tensors '{}' and '{}' are {} and {}, {}", checkpoint.file_of(*keys).string(),
                              printable(keys->name), printable(values->name), to_string(keys->shape),
                              to_string(values->shape), what));
    };
    const Shape& k = keys->shape;
    const Shape& v = values->shape;
    if (k.size() != 3 || v.size() != 3 || k[0] != v[0] || k[1] != v[2]) {
      fail("expected [heads, latent, width] and [heads, width, latent]");
    }
    if (element_count(k).value_or(0) == 0 || element_count(v).value_or(0) == 0) fail("which is nothing");
    if (!is_decodable(*keys) || !is_decodable(*values)) continue;  // will be reported as missing
    if (k[1] % block_of(*values) != 0 || (k[1] * k[2]) % block_of(*keys) != 0) fail("which is no number of blocks");
    StoredTensor both;
    both.name = name;
    both.dtype = keys->dtype;
    both.shape = {k[0] * (k[2] + v[1]), k[1]};
    auto packed = std::make_shared<PackedWeight>();
    packed->parts = {keys, values};
    packed->read = Reader(*keys, *values);
    both.packed = std::move(packed);
    weights.push_back(std::move(both));
  }
  return weights;
}

}  // namespace headscope
