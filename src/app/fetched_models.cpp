#include "app/fetched_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/spelling.h"

namespace headscope::app {
namespace {

namespace fs = std::filesystem;

// Repeats itself, so that heads which look for repetitions have something to find.
constexpr std::string_view kEnglish =
    "The shopping list says: bread, apples, green tea, candles, rice, a new broom, and two lemons. Anna reads it aloud "
    "to "
    "her brother. The shopping list says: bread, apples, green tea, candles, rice, a new broom, and two lemons.";
// Acetyl chloride and benzylamine give an amide.
constexpr std::string_view kReaction = "CC(=O)Cl.NCc1ccccc1>>CC(=O)NCc1ccccc1";
// Framework of a human heavy chain.
constexpr std::string_view kAntibody =
    "EVQLVESGGGLVQPGGSLRLSCAASGFTFSSYAMSWVRQAPGKGLEWVSAISGSGGSTYYADSVKGRFTISRDNSKNTLYLQMNSLRAEDTAVYYCAK";

struct Known {
  std::string_view name;
  std::string_view file;  // in the folder of that name; empty: the folder
  std::string_view text;
};
constexpr std::array kKnown = {
    Known{"smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", kEnglish},
    Known{"minilm", "", kEnglish},
    Known{"rxnfp", "", kReaction},
    Known{"antiberty", "", kAntibody},
};

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace

fs::path fetched_models() {
  if (const auto value = variable("HEADSCOPE_CACHE")) return fs::path(*value) / "models";
  if (const auto value = variable("XDG_CACHE_HOME")) return fs::path(*value) / "headscope" / "models";
  return fs::path(variable("HOME").value_or("")) / ".cache" / "headscope" / "models";
}

NamedModel find_named_model(std::string_view name) {
  std::error_code error;
  const auto known = std::ranges::find(kKnown, name, &Known::name);
  if (known == kKnown.end() || fs::exists(fs::path(name), error)) {
    const fs::path path(name);
    std::vector<std::string> names;
    for (const Known& one : kKnown) names.emplace_back(one.name);
    if (const std::string meant = did_you_mean(name, names); !meant.empty() && !fs::exists(path, error)) {
      throw Error(ErrorKind::kIo, fmt::format("--model: there is no model {}{}", printable(name, 60), meant));
    }
    const fs::path last = path.has_filename() ? path.filename() : path.parent_path().filename();
    return {.path = path, .name = last.string(), .text = std::string(kEnglish)};
  }
  const fs::path folder = fetched_models() / name;
  const fs::path path = known->file.empty() ? folder : folder / known->file;
  if (!fs::exists(path, error)) {
    throw Error(ErrorKind::kIo, fmt::format("{}: not fetched yet, {} is not there: run 'make models' in a clone of "
                                            "headscope, or give a folder or a GGUF file",
                                            name, path.string()));
  }
  return {.path = path, .name = std::string(name), .text = std::string(known->text)};
}

}  // namespace headscope::app
