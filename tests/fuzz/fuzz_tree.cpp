// A tree that is read is written and read again unchanged.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/tree/tree_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const headscope::JsonDocument document = headscope::JsonDocument::parse(text, "tree.json");
    const headscope::PartitionTree tree = headscope::tree_from_json(document.root(), "tree.json");
    const std::string written = headscope::to_json(tree);
    const headscope::JsonDocument again = headscope::JsonDocument::parse(written, "again.json");
    if (headscope::tree_from_json(again.root(), "again.json") != tree) __builtin_trap();
  } catch (const headscope::Error&) {
    // Refusing is right; anything else is a finding.
  }
  return 0;
}
