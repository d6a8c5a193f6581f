#include "model/attention_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "headscope/base/error.h"

namespace headscope {
namespace {

constexpr std::array<std::string_view, 16> kHints = {
    "q_proj", "k_proj", "v_proj",   "o_proj", "qkv",  "query", "key", "value",
    "c_attn", "c_proj", "out_proj", "attn_",  "Wqkv", "q_lin", "wq",  "self_attention.dense"};
constexpr std::array<std::string_view, 5> kNotWeights = {".bias", "norm", "masked_bias", "rotary", "gate"};

bool looks_like_attention(const StoredTensor& tensor) {
  if (tensor.shape.size() != 2) return false;
  const auto contains = [&](std::string_view part) { return tensor.name.find(part) != std::string::npos; };
  return std::any_of(kHints.begin(), kHints.end(), contains) &&
         std::none_of(kNotWeights.begin(), kNotWeights.end(), contains);
}

// "layers.12.mlp" -> "layers.{i}.mlp": replaces the first dotted part that is a number.
std::string without_layer(const std::string& name) {
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const bool number = end > begin && std::all_of(name.begin() + static_cast<std::ptrdiff_t>(begin),
                                                   name.begin() + static_cast<std::ptrdiff_t>(end),
                                                   [](unsigned char c) { return std::isdigit(c) != 0; });
    if (number) return name.substr(0, begin) + "{i}" + name.substr(end);
    begin = end + 1;
  }
  return name;
}

}  // namespace

std::string attention_looking_tensors(const Checkpoint& checkpoint) {
  constexpr std::size_t kMax = 8;
  std::vector<std::string> seen;
  std::vector<std::string> lines;
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    if (!looks_like_attention(*tensor)) continue;
    std::string name = without_layer(tensor->name);
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    if (lines.size() == kMax) {
      lines.emplace_back("...");
      break;
    }
    lines.push_back(fmt::format("{} {}", printable(name), to_string(tensor->shape)));
    seen.push_back(std::move(name));
  }
  return lines.empty() ? "none" : fmt::format("{}", fmt::join(lines, ", "));
}

}  // namespace headscope
