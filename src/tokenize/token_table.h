#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headscope {

/// Tokens by text and by id. Texts are stored in one buffer; ids may have gaps.
class TokenTable {
 public:
  /// For a duplicate text the last id counts.
  void add(std::string_view text, std::uint32_t id);
  /// Must be called after the last `add`.
  /// \throws Error  kFormat, with a message that starts with `where`, if an id has two tokens.
  void finish(std::string_view where);

  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const noexcept;
  /// Returns an empty text for an id without a token.
  [[nodiscard]] std::string_view text(std::uint32_t id) const noexcept;
  /// Number of distinct texts.
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
  std::vector<std::uint32_t> slots_;  // index into entries_ plus 1, 0 if empty; the size is a power of two
  std::vector<std::uint32_t> by_id_;  // indices into entries_, sorted by id
  std::size_t used_ = 0;
  std::size_t longest_ = 0;
};

/// Maps a pair of token ids to the token they merge to.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank;
    std::uint32_t id;
  };
  explicit MergeTable(std::size_t expected = 0);
  /// Replaces an existing merge of the pair.
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
