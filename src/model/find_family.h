#pragma once

#include <string>
#include <string_view>

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
  JsonValue config;       ///< The part of config.json that describes the family; null for GGUF.
  std::string gguf_keys;  ///< What the size keys of a GGUF file begin with; empty otherwise.
};

/// Chooses by `model_type`, else `architectures[0]`, else by names that fit one
/// family alone (timm); by `general.architecture` in GGUF. A `family` that is given goes before all of them.
/// The tensors' names must confirm it.
///
/// \throws Error  kInvalidArgument if `family` is none that is known; kUnsupported if the checkpoint's family is
/// unknown
///                or the names do not fit it; the message names the families that do fit and
///                lists the tensors that look like attention.
[[nodiscard]] FamilyMatch find_family(const Checkpoint& checkpoint, std::string_view family = {});

}  // namespace headscope
