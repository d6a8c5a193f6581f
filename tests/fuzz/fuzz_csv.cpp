#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/io/csv_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const headscope::CsvRows table = headscope::parse_csv(text, "fuzz.csv");
    if (table.size() != table.rows() * table.columns.size()) __builtin_trap();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.find(table.columns[i]) != i) __builtin_trap();
    }
  } catch (const headscope::Error&) {
    // Refusing is right; anything else is a finding.
  }
  return 0;
}
