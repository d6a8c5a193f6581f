#pragma once

#include <string>

#include "headscope/io/checkpoint.h"
#include "headscope/model/family.h"

namespace headscope {

/// The family a checkpoint is of and which of its namings it uses.
struct FamilyMatch {
  const Family* family;
  const Layout* layout;
  std::string prefix;  ///< What stands before the layout's names in this file.
  PositionKind position;
  NormOrder order;
  JsonValue config;  ///< The part of config.json that describes the family; null for GGUF.
};

/// Chooses by `model_type`, else `architectures[0]`, else by names that fit one
/// family alone (timm); by `general.architecture` in GGUF.
/// The tensors' names must confirm it.
///
/// \throws Error  kUnsupported if the family is unknown or the names do not fit it; the message
///                lists the tensors that look like attention.
[[nodiscard]] FamilyMatch find_family(const Checkpoint& checkpoint);

}  // namespace headscope
