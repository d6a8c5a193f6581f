#pragma once

#include <string_view>
#include <vector>

#include "headscope/io/checkpoint.h"
#include "headscope/model/family.h"

namespace headscope {

/// One of the transformers of a multimodal checkpoint, and the object in config.json that describes it.
struct Tower {
  Modality modality;
  JsonValue config;
};

/// Returns the towers that config.json describes, text first; empty if it describes a single transformer. The text
/// tower's settings may be at the top level, beside `vision_config` (Qwen2-VL).
[[nodiscard]] std::vector<Tower> towers_of(const Checkpoint& checkpoint);

/// "text" or "vision".
[[nodiscard]] std::string_view tower_name(Modality modality) noexcept;

/// Whether a prefix of tensor names, such as "vision_tower.", is that of a tower with another input.
[[nodiscard]] bool names_other_tower(std::string_view prefix, Modality modality);

/// Returns a prefix and all prefixes of it, longest first: "a.b.", "a.", "". Some files have what follows the last
/// layer outside of the layers' own prefix.
[[nodiscard]] std::vector<std::string_view> enclosing_prefixes(std::string_view prefix);

}  // namespace headscope
