#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/run/map_description.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const headscope::JsonDocument document = headscope::JsonDocument::parse(text, "tokens.json");
    const headscope::MapDescription maps = headscope::parse_map_description(document.root(), "tokens.json");
    for (const std::string& head : maps.heads) {
      if (head.empty() || head.find('/') != std::string::npos) __builtin_trap();
    }
  } catch (const headscope::Error&) {
    // Refusing is right; anything else is a finding.
  }
  return 0;
}
