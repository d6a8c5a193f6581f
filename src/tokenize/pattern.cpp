#include "tokenize/pattern.h"

namespace headscope {

Pattern Pattern::read(const Component& component) {
  const Component pattern = component.member("pattern");
  if (const auto text = pattern.value().find("String").as_string()) {
    if (text->empty()) pattern.unsupported("an empty string");
    return of_text(std::string(*text));
  }
  const auto regex = pattern.value().find("Regex").as_string();
  if (!regex) pattern.malformed("is neither a 'String' nor a 'Regex'");
  return of_regex(*regex, pattern.where());
}

void Pattern::Search::find_all(std::string_view text, std::vector<Segment>& segments) {
  if (search_) {
    search_->find_all(text, segments);
    return;
  }
  const std::string& wanted = pattern_.text_;
  std::size_t done = 0;
  for (std::size_t at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, done)) {
    if (at != done) segments.push_back({done, at, false});
    done = at + wanted.size();
    segments.push_back({at, done, true});
  }
  if (done != text.size()) segments.push_back({done, text.size(), false});
}

}  // namespace headscope
