#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/io/json.h"

namespace {

// Asks every value for everything.
std::size_t touch(headscope::JsonValue value) {
  std::size_t sum = value.as_string().value_or("").size() + value.size() + (value.as_unsigned() ? 1u : 0u) +
                    (value.as_number() ? 1u : 0u) + (value.as_bool() ? 1u : 0u);
  for (const headscope::JsonValue item : value.items()) sum += touch(item);
  for (const auto [key, member] : value.members()) sum += key.size() + touch(member);
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using headscope::JsonDialect;
  for (const JsonDialect dialect : {JsonDialect::kStrict, JsonDialect::kPython}) {
    try {
      const std::string_view text(reinterpret_cast<const char*>(data), size);
      const headscope::JsonDocument document = headscope::JsonDocument::parse(text, "fuzz.json", dialect);
      volatile std::size_t sum = touch(document.root());
      static_cast<void>(sum);
    } catch (const headscope::Error&) {
      // Refusing is right; anything else is a finding.
    }
  }
  return 0;
}
