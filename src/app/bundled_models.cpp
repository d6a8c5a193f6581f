#include "app/bundled_models.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/system.h"

namespace headscope::app {

std::filesystem::path bundled_models() {
  namespace fs = std::filesystem;
  std::vector<fs::path> places;
  if (const char* stated = std::getenv("HEADSCOPE_MODELS"); stated != nullptr && *stated != '\0') {
    places.emplace_back(stated);
  } else {
    const fs::path folder = program_path().parent_path();
    if (!folder.empty()) places = {folder / "../models", folder / "../share/headscope/models"};
  }
  std::string looked;
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::exists(place / "demo/config.json", error)) return fs::canonical(place);
    looked += fmt::format("{}{}", looked.empty() ? "" : ", ", place.lexically_normal().string());
  }
  throw Error(ErrorKind::kIo,
              fmt::format("the bundled models are not there (looked in {}): set HEADSCOPE_MODELS to the "
                          "folder that holds demo/ and demo-vit/",
                          looked));
}

}  // namespace headscope::app
