#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "headscope/io/checkpoint.h"
#include "headscope/io/gguf.h"
#include "support/bytes.h"
#include "support/gguf_bytes.h"
#include "support/read.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace headscope::test {

/// Writes a golden checkpoint's config.json with some keys changed: those of its text_config if it has them there.
/// "absent" takes a key away.
inline void write_config(const TemporaryFolder& folder, const std::filesystem::path& golden,
                         const nlohmann::json& patch) {
  using Json = nlohmann::json;
  std::ifstream file(golden / "config.json");
  Json config = Json::parse(file);
  for (const auto& [key, value] : patch.items()) {
    Json& scope = config.contains("text_config") && !config.contains(key) ? config["text_config"] : config;
    if (value == "absent") {
      scope.erase(key);
    } else {
      scope[key] = value;
    }
  }
  folder.write("config.json", config.dump());
}

/// Writes a golden checkpoint's model.safetensors with tensors under other names; the empty name takes one away.
inline void write_renamed(const TemporaryFolder& folder, const std::filesystem::path& golden,
                          const std::function<std::string(const std::string&)>& rename, SafetensorsWriter writer = {}) {
  const Checkpoint checkpoint = Checkpoint::open(golden);
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    const std::string name = rename(tensor->name);
    if (name.empty()) continue;
    const std::string raw(reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size());
    writer.add_raw(name, info(tensor->dtype).name, tensor->shape, raw);
  }
  folder.write("model.safetensors", writer.str());
}

/// Returns the bytes of a GGUF file with one more key. A second one of some length keeps the data aligned.
inline std::string with_key(std::string file, const std::string& key, GgufType type, const std::string& value) {
  constexpr std::size_t kAlignment = 32;
  constexpr std::size_t kCount = 16;  // place of the number of keys
  const auto entry = [](const std::string& name, GgufType kind, const std::string& bytes) {
    return Bytes()
        .add_text(GgufBytes::text(name).str())
        .add<std::uint32_t>(static_cast<std::uint32_t>(kind))
        .add_text(bytes)
        .str();
  };
  std::string added = entry(key, type, value);
  const std::string empty = entry("test.padding", GgufType::kString, GgufBytes::text("").str());
  const std::size_t missing = kAlignment - (added.size() + empty.size()) % kAlignment;
  added += entry("test.padding", GgufType::kString, GgufBytes::text(std::string(missing, ' ')).str());
  std::uint64_t count = 0;
  std::memcpy(&count, file.data() + kCount, sizeof(count));
  count += 2;
  std::memcpy(file.data() + kCount, &count, sizeof(count));
  return file.insert(kCount + sizeof(count), added);
}

}  // namespace headscope::test
