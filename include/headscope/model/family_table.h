#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headscope/model/family.h"

namespace headscope {

/// What works for a family. `relate` works for all of them; whether `patch` does depends on the configuration, too.
struct FamilySupport {
  const Family* family = nullptr;
  bool runs = false;       ///< capture, detect and patch, from safetensors.
  bool prunes = false;     ///< prune, from what runs: not models with an encoder and a decoder.
  bool gguf = false;       ///< relate, from GGUF.
  bool runs_gguf = false;  ///< capture, detect and patch, from GGUF.
};

/// Returns a row per family, sorted by name.
[[nodiscard]] std::vector<FamilySupport> family_table();

/// Returns the family with the `model_type`, name or GGUF architecture that takes the fewest insertions, deletions and
/// replacements of characters to become `stated`; nullptr if even that takes more than half of them.
[[nodiscard]] const Family* nearest_family(std::string_view stated);

/// Returns the table of docs/checkpoints.md.
[[nodiscard]] std::string families_markdown();

}  // namespace headscope
