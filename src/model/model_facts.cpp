#include "headscope/model/model_facts.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "headscope/io/model_file.h"

namespace headscope {
namespace {

constexpr std::array<std::string_view, 7> kLengthKeys = {
    "max_position_embeddings", "n_positions",     "n_ctx", "max_seq_len", "seq_length",
    "max_sequence_length",     "model_max_length"};

// Values that no training changes. GPT-2 stores its causal mask as "attn.bias", [1, 1, n, n].
bool is_table(const StoredTensor& tensor) {
  const std::string_view name = tensor.name;
  const Shape& shape = tensor.shape;
  const bool mask = name.ends_with("attn.bias") || name.ends_with("attention.bias");
  return name.ends_with("inv_freq") || name.ends_with("masked_bias") || name.ends_with("position_ids") ||
         (mask && shape.size() == 4 && shape[0] == 1 && shape[1] == 1);
}

std::optional<std::size_t> length_in(JsonValue config) {
  for (const std::string_view key : kLengthKeys) {
    if (const auto length = config.find(key).as_unsigned(); length && *length > 0) return *length;
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t parameter_count(const Checkpoint& checkpoint) {
  std::uint64_t count = 0;
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    if (is_decodable(*tensor) && !is_table(*tensor)) count += element_count(tensor->shape).value_or(0);
  }
  return count;
}

std::optional<std::size_t> context_length(const Model& model) {
  if (model.info().modality != Modality::kText) return std::nullopt;
  const Checkpoint& checkpoint = model.checkpoint();
  if (checkpoint.is_gguf()) {
    const auto architecture = checkpoint.metadata("general.architecture");
    if (!architecture) return std::nullopt;
    const auto length = checkpoint.metadata(std::string(architecture->as_string().value_or("")) + ".context_length");
    return length ? length->as_unsigned() : std::nullopt;
  }
  for (const char* nested : {"text_config", "llm_config", "language_config"}) {
    if (const auto length = length_in(checkpoint.config().find(nested))) return length;
  }
  return length_in(checkpoint.config());
}

bool has_tokenizer(const Checkpoint& checkpoint) {
  if (checkpoint.is_gguf()) return checkpoint.metadata("tokenizer.ggml.tokens").has_value();
  if (checkpoint.in_memory()) return false;
  const auto has = [&](const char* file) { return model_file_exists(checkpoint.path() / file); };
  return has("tokenizer.json") || (has("vocab.json") && has("merges.txt")) || has("vocab.txt");
}

}  // namespace headscope
