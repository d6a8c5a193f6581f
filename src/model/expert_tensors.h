#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "headscope/model/experts.h"
#include "model/find_family.h"

namespace headscope {

/// How the experts of a layer are chosen and gated, without their tensors. `stored` is the layer's number in the file.
/// \throws Error  kFormat for invalid values, kUnsupported for arithmetic that is not implemented.
[[nodiscard]] StoredExperts expert_settings(const Checkpoint& checkpoint, const FamilyMatch& match, std::size_t stored);

/// \throws Error  kFormat if that many experts cannot be chosen from as the settings say.
void check_router(const Checkpoint& checkpoint, const Router& router, std::size_t experts);

/// Finds the matrices of the experts of a layer in whatever form the file has them, and checks their shapes.
/// `named` puts the number of the layer into a name, `find` returns the tensor of that name or nullptr, `lacks` reports
/// a missing one.
/// \throws Error  kFormat if one is missing or has a wrong shape, kUnsupported if it has a type that is not decoded.
struct ExpertSearch {
  const Checkpoint& checkpoint;
  std::function<std::string(const std::string& pattern)> named;
  std::function<const StoredTensor*(const std::string& name)> find;
  std::function<void(const std::string& name)> lacks;
};
void find_experts(const ExpertSearch& search, const ExpertNames& names, std::size_t experts, std::size_t width,
                  StoredExperts& result);

}  // namespace headscope
