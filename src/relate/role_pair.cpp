#include "headscope/relate/role_pair.h"

namespace headscope {
namespace {

std::optional<Role> parse_role(char text) {
  for (const Role role : kRoles) {
    if (letter(role) == text) return role;
  }
  return std::nullopt;
}

}  // namespace

std::string to_string(RolePair pair) {
  return {letter(pair.source), letter(pair.target)};
}

std::optional<RolePair> parse_role_pair(std::string_view text) {
  if (text.size() != 2) return std::nullopt;
  const auto source = parse_role(text[0]);
  const auto target = parse_role(text[1]);
  if (!source || !target) return std::nullopt;
  return RolePair{*source, *target};
}

std::vector<RolePair> all_role_pairs() {
  std::vector<RolePair> pairs;
  for (const Role source : kRoles) {
    for (const Role target : kRoles) pairs.push_back({source, target});
  }
  return pairs;
}

}  // namespace headscope
