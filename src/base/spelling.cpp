#include "headscope/base/spelling.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace headscope {
namespace {

// Longer words are no misspelled name; comparing them would take long.
constexpr std::size_t kLongest = 64;

// Without what people rarely remember of a name: its case and which dashes it has.
std::string plain(std::string_view word) {
  std::string text;
  for (const char c : word) text += c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

std::size_t edits(std::string_view from, std::string_view to) {
  // Rows of the table for the letter before the last one, the last one, and this one.
  std::vector<std::size_t> before(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = last[j] + (from[i] == to[j] ? 0 : 1);
      row[j + 1] = std::min({replaced, row[j] + 1, last[j + 1] + 1});
      const bool swapped = i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

std::string nearest_name(std::string_view word, std::span<const std::string> names) {
  if (word.empty() || word.size() > kLongest) return {};
  const std::string typed = plain(word);
  const std::size_t letters = typed.size() - std::min(typed.size(), typed.find_first_not_of('-'));
  std::string nearest;
  // "cs" for "pk" is another word, "kp" may be a slip: two edits are too many for two letters, one is not. A single
  // letter is no misspelled one.
  std::size_t fewest = (letters < 2 ? 0 : std::max<std::size_t>(1, letters / 3)) + 1;
  for (const std::string& name : names) {
    const std::string known = plain(name);
    constexpr std::size_t kBeginning = 3;
    const bool begins = letters >= kBeginning && known.starts_with(typed);
    const std::size_t distance = known == typed ? 0 : begins ? 1 : edits(typed, known);
    if (distance >= fewest || distance >= known.size()) continue;
    nearest = name;
    fewest = distance;
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> names) {
  const std::string nearest = nearest_name(word, names);
  return nearest.empty() ? std::string() : " (did you mean '" + nearest + "'?)";
}

}  // namespace headscope
