// Reads arbitrary bytes as a file of head classes and asks it about every head it names. Only an Error may come out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/relate/labels.h"

namespace headscope {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void ask_everything(const HeadLabels& labels) {
  for (const HeadLabels::Class& one : labels.classes()) {
    for (const HeadId id : one.heads) {
      const auto names = labels.classes_of(id);
      require(std::ranges::find(names, one.name) != names.end());
      require(labels.is_in_class(id));
      require(one.ignored || labels.is_labeled(id));
    }
  }
  try {
    labels.check_against({.layers = 12, .heads = 12, .kv_heads = 4, .d_model = 768, .d_head = 64});
  } catch (const Error& error) {
    // However many heads the file names, the message that refuses them stays readable.
    require(std::string_view(error.what()).size() < 2000);
  }
}

}  // namespace
}  // namespace headscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    headscope::ask_everything(headscope::HeadLabels::parse(text, "fuzz.json"));
  } catch (const headscope::Error& error) {
    // Refusing is right, in a line of bearable length.
    headscope::require(std::string_view(error.what()).size() < 2000);
  }
  return 0;
}
