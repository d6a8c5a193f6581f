// The first byte says which file of a model the rest is: t tokenizer.json, v vocab.json, m vocab.json beside
// merges.txt, l vocab.txt, g a GGUF file. Reads its vocabulary and the text of its tokens. Only an Error may come out.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/io/checkpoint.h"
#include "headscope/model/vocabulary.h"
#include "support/safetensors_writer.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

void require(bool holds) {
  if (!holds) std::abort();
}

void write(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

// One folder a process, in memory where the system has such a place.
fs::path make_base() {
  fs::path made =
      fs::path(fs::exists("/dev/shm") ? "/dev/shm" : "/tmp") / ("headscope-fuzz-" + std::to_string(::getpid()));
  fs::create_directories(made);
  return made;
}

const fs::path& base() {
  static const fs::path path = make_base();
  return path;
}

// A model without a vocabulary, whose folder the inputs are written into.
Checkpoint make_model(const char* name) {
  const fs::path folder = base() / name;
  fs::create_directories(folder);
  write(folder / "config.json", R"({"model_type": "gpt2"})");
  write(folder / "model.safetensors", test::SafetensorsWriter().add("wte.weight", {1, 1}).str());
  return Checkpoint::open(folder);
}

std::optional<Vocabulary> load(char kind, std::string_view text) {
  if (kind == 'g') {
    const fs::path path = base() / "model.gguf";
    write(path, text);
    return Vocabulary::load(Checkpoint::open(path));
  }
  static const Checkpoint tokenizer = make_model("tokenizer");
  static const Checkpoint words = make_model("words");
  static const Checkpoint merges = make_model("merges");
  static const Checkpoint lines = make_model("lines");
  if (kind == 'm') write(merges.path() / "merges.txt", "");
  const Checkpoint& model = kind == 't' ? tokenizer : kind == 'v' ? words : kind == 'm' ? merges : lines;
  write(model.path() / (kind == 't' ? "tokenizer.json" : kind == 'l' ? "vocab.txt" : "vocab.json"), text);
  return Vocabulary::load(model);
}

void read_tokens(const Vocabulary& vocabulary) {
  require(vocabulary.size() <= Vocabulary::kMaxTokens);
  // A few of the first and the last ids: the file may name one of ten million.
  constexpr std::size_t kRead = 200;
  const std::size_t size = vocabulary.size();
  for (std::size_t i = 0; i < std::min(kRead, size); ++i) {
    require(vocabulary.token(i).size() < 1000);
    require(vocabulary.token(size - 1 - i).size() < 1000);
  }
  require(vocabulary.token(size).starts_with("<id "));
}

}  // namespace
}  // namespace headscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty() || std::string_view("tvmlg").find(input.front()) == std::string_view::npos) return 0;
  try {
    const auto vocabulary = headscope::load(input.front(), input.substr(1));
    headscope::require(vocabulary.has_value() || input.front() == 'g');
    if (vocabulary) headscope::read_tokens(*vocabulary);
  } catch (const headscope::Error& error) {
    // Refusing is right, in a line of bearable length.
    headscope::require(std::string_view(error.what()).size() < 20000);
  }
  return 0;
}
