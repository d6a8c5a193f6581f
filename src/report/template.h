#pragma once

#include <string_view>

namespace headscope {

/// web/dist/template.html
extern const std::string_view kReportTemplate;

}  // namespace headscope
