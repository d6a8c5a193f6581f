#pragma once

#include <string_view>

namespace headscope {

/// data/published/gpt2-small.json
extern const std::string_view kPublishedGpt2Small;
/// data/labels/gpt2-small-pk.json
extern const std::string_view kLabelsGpt2SmallPk;

}  // namespace headscope
