#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenize/regex.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "headscope/base/error.h"
#include "headscope/tokenize/utf8.h"

namespace headscope {
namespace {

// Expressions in use need a few steps per character. A match that needs more than `kFewSteps` is tried again with more,
// up to what one text may take altogether: many such matches, or one that practically never ends, are an error.
constexpr std::uint32_t kFewSteps = 10'000;
constexpr std::uint32_t kMaxSteps = 50'000'000;
constexpr std::uint32_t kMaxHeapKiB = 64 * 1024;
constexpr std::size_t kFirstStack = 32 * 1024;
constexpr std::size_t kMaxStack = 8 * 1024 * 1024;

using MatchData = std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)>;
using MatchContext = std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)>;
using JitStack = std::unique_ptr<pcre2_jit_stack, decltype(&pcre2_jit_stack_free)>;
using CompileContext = std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)>;

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct Regex::Code {
  explicit Code(pcre2_code* compiled) : value(compiled) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(value); }

  pcre2_code* value;
};

Regex::Regex(std::string_view pattern, std::string_view where) : shown_(printable(pattern, 80)) {
  const std::string translated = translate_regex(pattern, where);
  const CompileContext context(pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  if (!context) throw Error(ErrorKind::kResource, "out of memory while compiling a regular expression");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 100);
  int error = 0;
  std::size_t offset = 0;
  constexpr std::uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  pcre2_code* const compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                             kOptions, &error, &offset, context.get());
  if (compiled == nullptr) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: regular expression '{}' does not compile: {}", where, shown_, message_of(error)));
  }
  code_ = std::make_shared<const Code>(compiled);
  // Without the JIT compiler matching is only slower.
  static_cast<void>(pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE));
  std::uint32_t empty = 0;
  pcre2_pattern_info(compiled, PCRE2_INFO_MATCHEMPTY, &empty);
  may_match_empty_ = empty != 0;
}

struct RegexSearch::State {
  State()
      : data(pcre2_match_data_create(1, nullptr), pcre2_match_data_free),
        context(pcre2_match_context_create(nullptr), pcre2_match_context_free),
        stack(pcre2_jit_stack_create(kFirstStack, kMaxStack, nullptr), pcre2_jit_stack_free) {
    if (!data || !context || !stack)
      throw Error(ErrorKind::kResource, "out of memory while matching a regular expression");
    pcre2_set_depth_limit(context.get(), kMaxSteps);
    pcre2_set_heap_limit(context.get(), kMaxHeapKiB);
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }

  // Matches once, with more steps than usual if it needs them. Returns what pcre2_match returns. `left` is how many
  // such steps the text may still take.
  int match(const pcre2_code* code, std::string_view text, std::size_t from, std::uint32_t& left) const {
    std::uint32_t limit = kFewSteps;
    for (;;) {
      pcre2_set_match_limit(context.get(), limit);
      const int status = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                     PCRE2_NO_UTF_CHECK, data.get(), context.get());
      if (status != PCRE2_ERROR_MATCHLIMIT || left == 0) return status;
      limit = std::min(limit * 10, left);
      left -= limit;
    }
  }

  MatchData data;
  MatchContext context;
  JitStack stack;
};

RegexSearch::RegexSearch(const Regex& regex) : regex_(&regex), state_(std::make_unique<State>()) {}
RegexSearch::RegexSearch(RegexSearch&&) noexcept = default;
RegexSearch& RegexSearch::operator=(RegexSearch&&) noexcept = default;
RegexSearch::~RegexSearch() = default;

void RegexSearch::find_all(std::string_view text, std::vector<Segment>& segments) {
  if (text.empty()) return;
  const std::size_t* const found = pcre2_get_ovector_pointer(state_->data.get());
  std::size_t from = 0;
  std::size_t done = 0;  // end of the previous match
  bool matched = false;
  std::uint32_t steps_left = kMaxSteps;
  while (from <= text.size()) {
    const int status = state_->match(regex_->code_->value, text, from, steps_left);
    if (status == PCRE2_ERROR_NOMATCH) break;
    if (status < 0) {
      throw Error(ErrorKind::kResource, fmt::format("regular expression '{}' gives up at byte {} of {}: {}",
                                                    regex_->shown_, from, text.size(), message_of(status)));
    }
    const std::size_t begin = found[0];
    const std::size_t end = found[1];
    if (begin == end && matched && end == done) {
      from += from < text.size() ? decode_at(text, from).size : 1;
      continue;
    }
    if (done != begin) segments.push_back({done, begin, false});
    segments.push_back({begin, end, true});
    from = done = end;
    matched = true;
  }
  if (done != text.size()) segments.push_back({done, text.size(), false});
}

}  // namespace headscope
