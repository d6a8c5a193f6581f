#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headscope {

/// Tokens by text and by id. Texts lie in one buffer, ids may have gaps.
class TokenTable {
 public:
  /// A text that comes twice counts with its last id.
  void add(std::string_view text, std::uint32_t id);
  /// To be called after the last `add`.
  /// \throws Error  kFormat, beginning with `where`, if an id stands for two tokens.
  void finish(std::string_view where);

  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const noexcept;
  /// Empty for an id that has none.
  [[nodiscard]] std::string_view text(std::uint32_t id) const noexcept;
  /// How many different texts.
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  [[nodiscard]] std::size_t longest() const noexcept { return longest_; }

  struct Entry {
    std::size_t offset;
    std::uint32_t length;
    std::uint32_t id;
  };
  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  [[nodiscard]] std::string_view text(const Entry& entry) const noexcept {
    return std::string_view(texts_).substr(entry.offset, entry.length);
  }

 private:
  [[nodiscard]] std::size_t slot_of(std::string_view text) const noexcept;
  void grow();

  std::string texts_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // index into entries_ plus 1, 0 for none; a power of two
  std::vector<std::uint32_t> by_id_;  // indices into entries_, sorted by id
  std::size_t used_ = 0;
  std::size_t longest_ = 0;
};

/// What two tokens merge to, by their ids.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank;
    std::uint32_t id;
  };
  explicit MergeTable(std::size_t expected = 0);
  /// Takes the place of what these two had.
  void set(std::uint32_t left, std::uint32_t right, Merge merge);
  [[nodiscard]] const Merge* find(std::uint32_t left, std::uint32_t right) const noexcept;

 private:
  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge{};
  };
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // ids are smaller

  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const noexcept;

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace headscope
