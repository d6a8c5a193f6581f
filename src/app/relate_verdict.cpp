#include "app/relate_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace headscope::app {
namespace {

std::string named(const Edge& edge) {
  return fmt::format("{} > {} ({:.4g}, z {:.1f})", to_string(edge.source), to_string(edge.target), edge.score, edge.z);
}

std::string headline(const WiringCount& all) {
  if (all.pairs == 0) return "No wiring to test: no head is in an earlier layer than another";
  if (all.beyond_chance == 0) return fmt::format("No wiring beyond chance ({} pairs of heads tested)", all.pairs);
  return fmt::format("{} of {} pairs of heads {} beyond chance, {} {} out", all.beyond_chance, all.pairs,
                     all.beyond_chance == 1 ? "is" : "are", all.stands_out, all.stands_out == 1 ? "stands" : "stand");
}

std::vector<Hub> significant_hubs(const RelateResult& result) {
  std::vector<Hub> hubs;
  std::ranges::copy_if(result.hubs, std::back_inserter(hubs), &Hub::significant);
  return hubs;
}

std::string hub_sentence(const RelateResult& result) {
  constexpr std::size_t kNamed = 5;
  const std::vector<Hub> hubs = significant_hubs(result);
  if (hubs.empty()) {
    return fmt::format("No head has more links than its layers explain ({} heads tested)", result.hubs.size());
  }
  std::vector<std::string> names;
  for (const Hub& hub : hubs) {
    if (names.size() == kNamed) break;
    names.push_back(fmt::format("{} (p {:.2g})", to_string(result.graph.nodes()[hub.node]), hub.p_family));
  }
  const std::string more = hubs.size() > kNamed ? fmt::format(" and {} more", hubs.size() - kNamed) : "";
  return fmt::format("{} of {} heads {} more links than {} layers explain, p corrected for {} heads: {}{}", hubs.size(),
                     result.hubs.size(), hubs.size() == 1 ? "has" : "have", hubs.size() == 1 ? "its" : "their",
                     result.hubs.size(), fmt::join(names, ", "), more);
}

}  // namespace

std::vector<std::string> relate_verdict(const RelateResult& result) {
  const WiringCount& all = result.wiring.back();
  std::vector<std::string> sentences = {headline(all)};
  if (all.beyond_chance == 0) return sentences;
  for (const WiringCount& count : result.wiring) {
    if (!count.pair) continue;
    std::string sentence = fmt::format("{}: {} of {} pairs beyond chance, {} stand out", to_string(*count.pair),
                                       count.beyond_chance, count.pairs, count.stands_out);
    const auto first = std::ranges::find_if(result.edges, [&](const Edge& edge) { return edge.pair == *count.pair; });
    if (first != result.edges.end() && first->beyond_chance) {
      sentence += fmt::format("; the strongest of them is {} under {}", named(*first), to_string(result.headline));
    }
    sentences.push_back(std::move(sentence));
  }
  sentences.push_back(hub_sentence(result));
  return sentences;
}

std::string wiring_lines(const RelateResult& result) {
  constexpr std::size_t kShown = 3;
  std::string lines;
  for (const WiringCount& count : result.wiring) {
    if (!count.pair || count.pairs == 0) continue;
    std::vector<std::string> strongest;
    for (const Edge& edge : result.edges) {
      if (edge.pair == *count.pair && edge.beyond_chance && strongest.size() < kShown) strongest.push_back(named(edge));
    }
    const std::string counts =
        count.beyond_chance == 0
            ? fmt::format("none of {} beyond chance", count.pairs)
            : fmt::format("{} of {} beyond chance, {} stand out", count.beyond_chance, count.pairs, count.stands_out);
    lines += fmt::format("{:<12} {}\n", to_string(*count.pair), counts);
    if (!strongest.empty()) lines += fmt::format("{:<12} {}\n", "", fmt::join(strongest, "   "));
  }
  return lines;
}

std::string hub_lines(const RelateResult& result) {
  constexpr std::size_t kShown = 3;
  const std::vector<Hub> hubs = significant_hubs(result);
  std::string lines;
  for (std::size_t i = 0; i < std::min(kShown, hubs.size()); ++i) {
    const Hub& hub = hubs[i];
    lines += fmt::format("{:<12} {} (p {:.2g}, corrected for {} heads): {}\n", i == 0 ? "hubs" : "",
                         to_string(result.graph.nodes()[hub.node]), hub.p_family, result.hubs.size(), hub.reason);
  }
  if (hubs.size() > kShown) lines += fmt::format("{:<12} and {} more in hubs.csv\n", "", hubs.size() - kShown);
  return lines;
}

}  // namespace headscope::app
