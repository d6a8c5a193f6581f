#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/io/checkpoint.h"
#include "headscope/model/family.h"

namespace headscope {

/// The layout that fits a file, or why none does.
struct LayoutSearch {
  const Layout* layout = nullptr;
  std::string prefix;
  std::string problem;
};

/// Returns the first of a family's layouts that the tensor names and the configuration fit.
[[nodiscard]] LayoutSearch find_layout(const Checkpoint& checkpoint, const std::vector<Layout>& layouts,
                                       JsonValue config);

/// A family whose names for the heads fit the tensors, and how well the rest fits.
struct FamilyFit {
  const Family* family;
  std::size_t missing;     ///< Modules of the family that no layer has.
  std::size_t recognized;  ///< Tensors of the file that the family has a name for.
};

/// Returns the families whose layout fits the tensors, best first: fewest missing modules, then most recognized
/// tensors. Ties go to families whose own prefix the file has, then to the longest family name contained in `stated`,
/// what the file calls itself.
[[nodiscard]] std::vector<FamilyFit> fitting_families(const Checkpoint& checkpoint, std::string_view stated = {});

}  // namespace headscope
