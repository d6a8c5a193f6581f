#pragma once

#include "model/config_reader.h"
#include "model/forward_settings.h"

namespace headscope {

/// Sets `rotary` and `local_rotary` from config.json, in the current format (`rope_parameters`, one object or one per
/// layer type) or the older one (`rope_theta`, `rope_scaling`, ...).
///
/// \throws Error  kUnsupported for an unknown kind of scaling, kFormat for values that do not fit it.
void set_rotary(const ConfigReader& config, const FamilyMatch& match, const HeadSizes& sizes,
                ForwardSettings& settings);

/// Whether the position kind is rotary.
[[nodiscard]] bool is_rotary(PositionKind kind) noexcept;

/// YaRN's factor on sine and cosine: 0.1 m ln(factor) + 1, or 1 if factor <= 1.
[[nodiscard]] double yarn_amplitude(double factor, double m = 1);

/// \throws Error  kFormat if the width or a list of factors does not fit.
void check_rotary(const Rotary& rotary, const HeadSizes& sizes, const std::string& where);

}  // namespace headscope
