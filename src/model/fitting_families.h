#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/io/checkpoint.h"
#include "headscope/model/family.h"

namespace headscope {

/// The naming that fits a file, or why none does.
struct LayoutSearch {
  const Layout* layout = nullptr;
  std::string prefix;
  std::string problem;
};

/// The first of a family's namings that the tensors' names fit.
[[nodiscard]] LayoutSearch find_layout(const Checkpoint& checkpoint, const std::vector<Layout>& layouts);

/// A family whose naming of the heads fits the tensors, and how well the rest does.
struct FamilyFit {
  const Family* family;
  std::size_t missing;     ///< Modules of the family that no layer has.
  std::size_t recognized;  ///< Tensors of the file that the family has a name for.
};

/// The families whose naming fits the tensors, the best first: fewest modules missing, then most tensors recognized.
/// Among equals, those come first whose own prefix the file has, then those with the longest name that is part of
/// `stated`, what the file calls itself.
[[nodiscard]] std::vector<FamilyFit> fitting_families(const Checkpoint& checkpoint, std::string_view stated = {});

}  // namespace headscope
