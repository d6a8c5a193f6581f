#include "tokenize/post_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/tokenize/utf8.h"
#include "tokenize/byte_level.h"
#include "tokenize/characters.h"

namespace headscope {
namespace {

// ["[CLS]", 101]
std::uint32_t read_pair(const Component& component, std::string_view key) {
  const Component pair = component.list(key);
  std::size_t index = 0;
  std::optional<std::uint64_t> id;
  for (const JsonValue item : pair.value().items()) {
    if (index++ == 1) id = item.as_unsigned();
  }
  if (index != 2 || !id) pair.malformed("is not a pair of a token and its id");
  return checked_id(*id, pair);
}

PostStep read_around(const Component& component) {
  return {PostStep::Kind::kTemplate, false, {read_pair(component, "cls"), std::nullopt, read_pair(component, "sep")}};
}

// A template has a handful of tokens. A file in which a list of many ids is used many times would fill the memory.
constexpr std::size_t kMaxTemplateTokens = 4096;

using SpecialTokens = std::unordered_map<std::string_view, JsonValue>;

SpecialTokens special_tokens(const Component& component) {
  SpecialTokens tokens;
  for (const auto [name, value] : component.value().find("special_tokens").members()) tokens.emplace(name, value);
  return tokens;
}

void read_special(const Component& component, const SpecialTokens& tokens, const Component& item, PostStep& step) {
  const std::string_view name = item.member("SpecialToken").text("id");
  const auto found = tokens.find(name);
  const Component special(found == tokens.end() ? JsonValue() : found->second,
                          component.member("special_tokens").member(name).where());
  const Component ids = special.list("ids");
  for (const JsonValue value : ids.value().items()) {
    const auto id = value.as_unsigned();
    if (!id) ids.malformed("is not a list of ids");
    if (step.items.size() == kMaxTemplateTokens) {
      item.unsupported(fmt::format("a template of more than {} tokens", kMaxTemplateTokens));
    }
    step.items.emplace_back(checked_id(*id, ids));
  }
}

PostStep read_template(const Component& component) {
  PostStep step{PostStep::Kind::kTemplate, false, {}};
  const Component single = component.list("single");
  const SpecialTokens tokens = special_tokens(component);
  std::size_t index = 0;
  for (const JsonValue value : single.value().items()) {
    const Component item = single.item(value, index++);
    if (!item.value().find("SpecialToken").is_null()) {
      read_special(component, tokens, item, step);
    } else if (item.value().find("Sequence").find("id").as_string() == "A") {
      step.items.emplace_back(std::nullopt);
    } else {
      item.malformed("is neither a special token nor the sequence A");
    }
  }
  if (std::ranges::count_if(step.items, [](const auto& item) { return !item; }) != 1) {
    single.unsupported("a template that does not contain the text exactly once");
  }
  return step;
}

// Count the characters at the beginning or end of a token that are spaces or represent one.
bool is_blank(char32_t c) {
  return c == kByteCharacters[' '] || is_space(c);
}
std::size_t leading_blanks(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size() && is_blank(decode_at(text, i).value); ++count) i += decode_at(text, i).size;
  return count;
}
std::size_t trailing_blanks(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t end = text.size(); end > 0 && is_blank(decode_before(text, end).value); ++count) {
    end -= decode_before(text, end).size;
  }
  return count;
}

}  // namespace

void read_post_processor(const Component& component, PostSteps& steps) {
  if (component.value().is_null()) return;
  const std::string_view type = component.type();
  if (type == "Sequence") {
    const Component list = component.list("processors");
    std::size_t index = 0;
    for (const JsonValue item : list.value().items()) {
      const Component part = list.item(item, index++);
      if (part.value().is_null()) part.malformed("is null");
      read_post_processor(part, steps);
    }
  } else if (type == "TemplateProcessing") {
    steps.push_back(read_template(component));
  } else if (type == "BertProcessing") {
    steps.push_back(read_around(component));
  } else if (type == "ByteLevel" || type == "RobertaProcessing") {
    const bool space = component.flag("add_prefix_space");
    if (component.flag("trim_offsets")) steps.push_back({PostStep::Kind::kTrim, space, {}});
    if (type == "RobertaProcessing") steps.push_back(read_around(component));
  } else {
    component.unsupported(fmt::format("post-processor '{}'", printable(type, 60)));
  }
}

void trim_offsets(std::string_view text, bool add_prefix_space, std::vector<TextToken>& tokens) {
  for (std::size_t index = 0; index < tokens.size(); ++index) {
    auto& [token, written] = tokens[index];
    std::size_t leading = leading_blanks(written);
    const std::size_t trailing = trailing_blanks(written);
    // One space at the beginning may have been inserted and is then not part of the text.
    if (leading == 1 && add_prefix_space && (index == 0 || token.begin == 0)) leading = 0;
    for (; leading > 0 && token.begin < token.end; --leading) token.begin += decode_at(text, token.begin).size;
    std::size_t end = token.end;
    std::size_t left = trailing;
    for (; left > 0 && end > 0; --left) end -= decode_before(text, end).size;
    if (left == 0) token.end = std::max(end, token.begin);
  }
}

void apply_template(const PostStep& step, std::vector<TextToken>& tokens) {
  std::vector<TextToken> all;
  all.reserve(tokens.size() + step.items.size());
  for (const std::optional<std::uint32_t> id : step.items) {
    if (id) {
      all.push_back({{*id, 0, 0}, {}});
    } else {
      all.insert(all.end(), tokens.begin(), tokens.end());
    }
  }
  tokens = std::move(all);
}

}  // namespace headscope
