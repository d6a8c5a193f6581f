#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/io/npy.h"
#include "support/temporary_folder.h"

namespace headscope::test {

/// A RUN folder assembled by hand, with a correct manifest unless told otherwise.
class RunFiles {
 public:
  void text(const std::string& name, std::string_view contents) {
    folder_.write(name, contents);
    names_.push_back(name);
  }
  template <typename T>
  void array(const std::string& name, const std::vector<T>& values, const Shape& shape) {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    write_npy<T>(folder_.path() / name, values, shape);
    names_.push_back(name);
  }
  /// Adds a command with this identity.
  void command(const std::string& name, const nlohmann::json& identity) { identities_[name] = identity; }
  /// Writes a manifest that lists everything and returns the folder.
  const std::filesystem::path& finish() const {
    nlohmann::json manifest = {{"files", nlohmann::json::object()}, {"commands", nlohmann::json::object()}};
    for (const std::string& name : names_) manifest["files"][name] = {{"kind", "test"}, {"about", "A test."}};
    manifest["commands"]["relate"] = {{"arguments", {"relate"}}};
    for (const auto& [name, identity] : identities_.items()) manifest["commands"][name] = {{"identity", identity}};
    folder_.write("manifest.json", manifest.dump());
    return folder_.path();
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  std::vector<std::string> names_;
  nlohmann::json identities_ = nlohmann::json::object();
};

}  // namespace headscope::test
