#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/model/experts.h"

namespace headscope {

/// An expert of a token, and the factor on its output.
struct ChosenExpert {
  std::size_t expert;
  float weight;
};

/// Chooses a token's experts from the outputs of the router's linear map; of equal scores the first. `correction` is
/// empty or has one number per expert. `chosen` receives `router.chosen` of them, best first.
void choose_experts(const Router& router, std::span<const float> logits, std::span<const float> correction,
                    std::span<ChosenExpert> chosen);

}  // namespace headscope
