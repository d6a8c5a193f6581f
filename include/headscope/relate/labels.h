#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/model/head_id.h"
#include "headscope/model/head_sizes.h"

namespace headscope {

/// Heads with a known purpose, by class.
///
/// The file is JSON. A head may be in several classes. Classes listed in `ignored` are shown but do not make a pair of
/// heads a positive one:
///
///     {"name": "gpt2-small-pk", "source": "arXiv 2601.10266, figures",
///      "classes": {"previous": ["2.2", "L4H11"], "identity": ["4.7"]}, "ignored": ["identity"]}
///
/// `name`, `source` and `ignored` are optional.
class HeadLabels {
 public:
  struct Class {
    std::string name;
    std::vector<HeadId> heads;  ///< Without duplicates, in file order.
    bool ignored = false;
  };

  /// No classes.
  HeadLabels() = default;

  /// Every error message starts with `where`, e.g. the file name.
  /// \throws Error  kFormat if the text is not a label file: not JSON, an unknown or duplicate key, no classes, a
  ///                duplicate class, a class name that is empty, longer than 100 bytes or has control characters, an
  ///                invalid head or a duplicate in a class, an ignored class that does not exist.
  [[nodiscard]] static HeadLabels parse(std::string_view text, std::string_view where);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  /// In file order.
  [[nodiscard]] std::span<const Class> classes() const noexcept { return classes_; }

  /// Names of the classes of a head, including ignored ones. A KV head is in a class only if the file names that KV
  /// head.
  [[nodiscard]] std::vector<std::string> classes_of(HeadId id) const;
  /// Whether a head is in any class, including ignored ones.
  [[nodiscard]] bool is_in_class(HeadId id) const noexcept;
  /// Whether a head is in a class that is not ignored.
  [[nodiscard]] bool is_labeled(HeadId id) const noexcept;

  /// \throws Error  kFormat, naming the labeled heads that a model of these sizes does not have.
  void check_against(const HeadSizes& sizes) const;

 private:
  std::string where_;
  std::string name_;
  std::string source_;
  std::vector<Class> classes_;
  std::vector<HeadId> in_class_;  // sorted, unique
  std::vector<HeadId> labeled_;   // sorted, unique
};

/// \throws Error  kIo if the file cannot be read; kFormat if it is larger than 16 MiB, or as `HeadLabels::parse`.
[[nodiscard]] HeadLabels load_labels(const std::filesystem::path& path);

}  // namespace headscope
