#pragma once

#include <array>
#include <cstddef>

namespace headscope {

/// What a head's matrix does with the residual stream: Q, K and V read from it, O writes to it.
enum class Role { kQ, kK, kV, kO };

inline constexpr std::array kRoles = {Role::kQ, Role::kK, Role::kV, Role::kO};

/// Returns 'Q', 'K', 'V' or 'O'.
[[nodiscard]] constexpr char letter(Role role) noexcept {
  return "QKVO"[static_cast<std::size_t>(role)];
}

/// Whether the role has one matrix per KV head rather than per query head.
[[nodiscard]] constexpr bool is_key_value(Role role) noexcept {
  return role == Role::kK || role == Role::kV;
}

}  // namespace headscope
