#include <fmt/format.h>

#include <set>

#include "headscope/base/error.h"
#include "headscope/tree/tree_json.h"
#include "report/page_data.h"

namespace headscope::report {
namespace {

void check_names(JsonValue names, const std::string& where) {
  std::set<std::string_view> seen;
  for (const JsonValue name : names.items()) {
    if (!seen.insert(name.as_string().value_or("")).second)
      throw Error(ErrorKind::kFormat,
                  fmt::format("{}: duplicate name '{}'", where, printable(name.as_string().value_or(""))));
  }
}

}  // namespace

Json packed_tree(const PartitionTree& tree, JsonValue names) {
  Json levels = Json::array();
  for (std::size_t level = 0; level < tree.level_count(); ++level) {
    Json ends = Json::array();
    for (const PartitionTree::Folder& folder : tree.folders(level)) ends.push_back(folder.end);
    levels.push_back(std::move(ends));
  }
  Json order = Json::array();
  for (const std::size_t element : tree.order()) order.push_back(element);
  Json result = {{"n", tree.size()}, {"order", std::move(order)}, {"levels", std::move(levels)}};
  if (names.is_array()) result["names"] = as_json(names);
  return result;
}

void add_trees(PageData& page) {
  struct Source {
    const char* file;
    const char* name;
    bool heads;
  };
  Json trees = Json::object();
  for (const Source source : {Source{"tree.json", "communities", true}, Source{"trees/head.json", "head", true},
                              Source{"trees/head_consensus.json", "consensus", true},
                              Source{"trees/query.json", "query", false}, Source{"trees/key.json", "key", false}}) {
    if (!page.run.has(source.file)) continue;
    const JsonDocument document = page.run.json(source.file);
    const PartitionTree tree = tree_from_json(document.root(), page.run.where(source.file));
    const JsonValue names = document.root().find("names");
    // Tokens may be repeated, heads must be unique.
    if (source.heads) check_names(names, page.run.where(source.file));
    trees[source.name] = packed_tree(tree, names);
  }
  if (!trees.empty()) page.root["trees"] = std::move(trees);
}

}  // namespace headscope::report
