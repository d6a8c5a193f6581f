#pragma once

#include "model/config_reader.h"
#include "model/forward_settings.h"

namespace headscope {

/// Fills in `rotary` and `local_rotary` from config.json, in its present form (`rope_parameters`, one object or one
/// a kind of layer) or the older one (`rope_theta`, `rope_scaling`, ...).
///
/// \throws Error  kUnsupported for an unknown kind of scaling, kFormat for numbers that do not fit it.
void set_rotary(const ConfigReader& config, const FamilyMatch& match, const HeadSizes& sizes,
                ForwardSettings& settings);

/// Whether the position kind turns components.
[[nodiscard]] bool is_rotary(PositionKind kind) noexcept;

/// Yarn's factor on sine and cosine: 0.1 m ln(factor) + 1.
[[nodiscard]] double yarn_amplitude(double factor, double m = 1);

/// \throws Error  kFormat if the width or a list of factors does not fit.
void check_rotary(const Rotary& rotary, const HeadSizes& sizes, const std::string& where);

}  // namespace headscope
