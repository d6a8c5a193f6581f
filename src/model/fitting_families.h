#pragma once

#include <cstddef>
#include <optional>
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
  std::optional<std::size_t> stage = {};  ///< The stage that `prefix` is of, from 0.
  std::vector<std::size_t> stages = {};   ///< All stages there are; empty if the layout has none.
};

/// Returns the first of a family's layouts that the tensor names and the configuration fit. `modality` is the family's:
/// names of a tower with another input do not count. If a prefix of the layout has {i}, the number of a stage, `stage`
/// selects one; without it, it is the stage with the most layers.
[[nodiscard]] LayoutSearch find_layout(const Checkpoint& checkpoint, const std::vector<Layout>& layouts,
                                       JsonValue config, Modality modality, std::optional<std::size_t> stage = {});

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
