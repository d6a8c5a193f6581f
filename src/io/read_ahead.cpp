#include "headscope/io/read_ahead.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace headscope {
namespace {

void advise(std::span<const std::byte> pages, int advice) noexcept {
  ::madvise(const_cast<std::byte*>(pages.data()), pages.size(), advice);
}

}  // namespace

WithoutReadAhead::WithoutReadAhead(std::span<const std::byte> mapped) noexcept {
  if (mapped.empty()) return;
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  // All pages that the span touches: a hint does no harm to neighbors.
  const std::size_t before = reinterpret_cast<std::uintptr_t>(mapped.data()) % page;
  pages_ = {mapped.data() - before, mapped.size() + before};
  advise(pages_, MADV_RANDOM);
}

WithoutReadAhead::~WithoutReadAhead() {
  if (!pages_.empty()) advise(pages_, MADV_NORMAL);
}

}  // namespace headscope
