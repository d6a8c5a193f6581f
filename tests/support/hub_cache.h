#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "support/temporary_folder.h"

namespace headscope::test {

/// Sets or unsets an environment variable for the lifetime of this object.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_); }

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      ::setenv(name_.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }

  std::string name_;
  std::optional<std::string> before_;
};

inline const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";
inline const std::string kOtherCommit = "fedcba9876543210fedcba9876543210fedcba98";

/// A Hugging Face cache laid out like huggingface_hub's, used by this process for the lifetime of the object.
class HubCache {
 public:
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_.path(); }
  [[nodiscard]] const TemporaryFolder& folder() const noexcept { return folder_; }
  /// "models--a--b" for "a/b".
  [[nodiscard]] static std::string folder_of(std::string repository) {
    if (const auto slash = repository.find('/'); slash != std::string::npos) repository.replace(slash, 1, "--");
    return "models--" + repository;
  }
  [[nodiscard]] std::filesystem::path snapshot(const std::string& repository,
                                               const std::string& commit = kCommit) const {
    return path() / folder_of(repository) / "snapshots" / commit;
  }

  /// Stores contents by name as blobs, with a snapshot of links to them; refs/REVISION names its commit.
  void add(const std::string& repository, const std::map<std::string, std::string>& files,
           const std::string& revision = "main", const std::string& commit = kCommit) const {
    std::filesystem::create_directories(snapshot(repository, commit));
    for (const auto& [name, contents] : files) {
      const std::string blob = commit.substr(0, 8) + "-" + name;
      folder_.write(folder_of(repository) + "/blobs/" + blob, contents);
      std::filesystem::create_symlink("../../blobs/" + blob, snapshot(repository, commit) / name);
    }
    if (!revision.empty()) folder_.write(folder_of(repository) + "/refs/" + revision, commit);
  }
  /// Adds a link to a blob that does not exist.
  void add_dangling(const std::string& repository, const std::string& name) const {
    std::filesystem::create_symlink("../../blobs/absent", snapshot(repository) / name);
  }
  /// Returns the files of a folder in the form that `add` takes.
  [[nodiscard]] static std::map<std::string, std::string> files_of(const std::filesystem::path& source) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(source)) {
      if (!entry.is_regular_file()) continue;  // such as __pycache__
      std::ifstream stream(entry.path(), std::ios::binary);
      files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(stream), {}};
    }
    return files;
  }

 private:
  TemporaryFolder folder_;
  Variable variable_{"HF_HUB_CACHE", folder_.path().string()};
};

}  // namespace headscope::test
