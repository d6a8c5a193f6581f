#include "model/fitting_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "headscope/base/error.h"
#include "model/config_reader.h"
#include "model/layer_names.h"
#include "model/towers.h"

namespace headscope {
namespace {

// Returns the prefix of O's names: the first listed prefix that occurs, else the only prefix there is.
// Prefixes of a tower with another input do not count.
std::optional<std::string> find_prefix(const Checkpoint& checkpoint, const Layout& layout, Modality modality) {
  std::set<std::string_view> found;
  const std::string pattern = layout.o + ".weight";
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    const auto match = match_layer(tensor->name, pattern);
    if (match && !names_other_tower(match->prefix, modality)) found.insert(match->prefix);
  }
  for (const std::string& prefix : layout.prefixes) {
    if (found.contains(prefix)) return prefix;
  }
  if (!layout.other_prefixes || found.size() != 1) return std::nullopt;
  return std::string(*found.begin());
}

// Chooses among the stages of a layout whose prefix has {i}.
LayoutSearch find_stage(const Checkpoint& checkpoint, const Layout& layout, std::optional<std::size_t> stage) {
  LayoutSearch search{.layout = &layout, .prefix = {}, .problem = fmt::format("there is no '{}.weight'", layout.o)};
  std::map<std::size_t, std::pair<std::string, std::size_t>> found;  // by stage: its prefix and its number of layers
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    const auto match = match_layer(tensor->name, layout.o + ".weight");
    for (const std::string& pattern : layout.prefixes) {
      const auto place = match ? match_layer(match->prefix, pattern) : std::nullopt;
      if (!place || !place->prefix.empty()) continue;
      auto& [prefix, layers] = found[place->layer];
      prefix = match->prefix;
      ++layers;
    }
  }
  std::size_t most = 0;
  for (const auto& [index, one] : found) {
    search.stages.push_back(index);
    if (stage ? index != *stage : one.second < most) continue;
    most = one.second;
    search.stage = index;
    search.prefix = one.first;
    search.problem.clear();
  }
  if (!found.empty() && !search.stage) search.problem = fmt::format("there is no stage {}", *stage + 1);
  return search;
}

bool has_layer_tensor(const Checkpoint& checkpoint, const std::string& prefix, const std::string& pattern) {
  return std::any_of(checkpoint.tensors().begin(), checkpoint.tensors().end(), [&](const StoredTensor* tensor) {
    const auto match = match_layer(tensor->name, pattern);
    return match && match->prefix == prefix;
  });
}

// Modules that every model with the layout has: those of the heads and of the blocks around them.
std::vector<std::string> required_modules(const Layout& layout) {
  const ForwardNames& forward = layout.forward;
  std::vector<std::string> modules = {layout.q,
                                      layout.k,
                                      layout.v,
                                      layout.o,
                                      layout.norm,
                                      layout.q_norm,
                                      layout.latent.q_down,
                                      layout.latent.q_norm,
                                      layout.latent.kv_down,
                                      layout.latent.kv_norm,
                                      forward.patches,
                                      forward.embedding_norm,
                                      forward.k_norm,
                                      forward.norm_after_attention,
                                      forward.mlp_norm,
                                      forward.norm_after_mlp,
                                      forward.final_norm,
                                      forward.transform,
                                      forward.transform_norm};
  const auto is_norm = [&](const std::string& module) {
    return module == layout.norm || module == forward.mlp_norm || module == forward.final_norm;
  };
  std::erase_if(modules, [&](const std::string& module) {
    return module.empty() || (layout.bare_norms && is_norm(module)) || module.find("{h}") != std::string::npos ||
           (forward.mlp_norm_if_sequential && module == forward.mlp_norm);
  });
  return modules;
}

// Full names of the tensors that a layout knows, with {i} for the layer number.
std::vector<std::string> known_names(const Layout& layout) {
  const ForwardNames& forward = layout.forward;
  std::vector<std::string> modules = required_modules(layout);
  modules.insert(modules.end(), {forward.project_in, forward.project_out});
  for (const MlpNames& mlp : forward.mlp) modules.insert(modules.end(), {mlp.gate, mlp.up, mlp.down});
  const ExpertNames& experts = forward.experts;
  modules.insert(modules.end(), experts.routers.begin(), experts.routers.end());
  modules.insert(modules.end(), {experts.shared_gate, experts.shared_up, experts.shared_down, experts.shared_switch});
  std::vector<std::string> names = {layout.output_scale,   forward.positions, forward.token_types,
                                    forward.registers,     forward.mlp_scale, forward.unembedding_bias,
                                    forward.relative_bias, forward.sinks};
  names.insert(names.end(), experts.corrections.begin(), experts.corrections.end());
  for (const ExpertForm& form : forward.experts.forms) names.insert(names.end(), {form.gate, form.up, form.down});
  for (const auto& some : {layout.embedding, layout.unembedding, forward.leading}) {
    names.insert(names.end(), some.begin(), some.end());
  }
  for (const std::string& module : modules) {
    if (!module.empty()) names.insert(names.end(), {module + ".weight", module + ".bias"});
  }
  std::erase(names, "");
  return names;
}

bool has_tensor(const Checkpoint& checkpoint, const std::string& prefix, const std::string& name) {
  return checkpoint.find(prefix + name) != nullptr || checkpoint.find(name) != nullptr ||
         has_layer_tensor(checkpoint, prefix, name);
}

std::size_t missing_modules(const Checkpoint& checkpoint, const Layout& layout, const std::string& prefix) {
  const auto lacks = [&](const std::string& name) { return !has_tensor(checkpoint, prefix, name); };
  const std::vector<std::string> modules = required_modules(layout);
  const auto missing = std::ranges::count_if(modules, [&](const std::string& name) { return lacks(name + ".weight"); });
  const bool no_scale = !layout.output_scale.empty() && !layout.output_scale_optional && lacks(layout.output_scale);
  const auto& mlp = layout.forward.mlp;
  const auto& routers = layout.forward.experts.routers;
  const bool no_experts =
      std::ranges::all_of(routers, [&](const std::string& router) { return lacks(router + ".weight"); });
  const bool known = !mlp.empty() || !routers.empty();
  const bool no_mlp = known && no_experts && std::ranges::all_of(mlp, [&](const MlpNames& names) {
                        return lacks(names.up + ".weight") || (!names.gate.empty() && lacks(names.gate + ".weight"));
                      });
  return static_cast<std::size_t>(missing) + (no_scale ? 1 : 0) + (no_mlp ? 1 : 0);
}

std::size_t recognized_tensors(const Checkpoint& checkpoint, const Layout& layout, const std::string& prefix) {
  std::set<const StoredTensor*> found;
  for (const std::string& name : known_names(layout)) {
    found.insert({checkpoint.find(prefix + name), checkpoint.find(name)});
    for (const StoredTensor* tensor : checkpoint.tensors()) {
      const auto match = match_layer(tensor->name, name);
      if (match && match->prefix == prefix) found.insert(tensor);
    }
  }
  found.erase(nullptr);
  return found.size();
}

bool holds(const std::vector<ConfigSwitch>& conditions, JsonValue config) {
  return std::ranges::all_of(conditions, [&](const ConfigSwitch& one) {
    return find_path(config, one.key).as_bool().value_or(one.by_default) == one.value;
  });
}

// Returns what shows that the file belongs to a relative; empty if nothing does. Names without {i} are of the model.
std::string other_tensors(const Checkpoint& checkpoint, const Layout& layout, const std::string& prefix) {
  const auto has = [&](const std::string& name) {
    return checkpoint.find(prefix + name) != nullptr || has_layer_tensor(checkpoint, prefix, name);
  };
  for (const std::string& name : layout.always_has) {
    if (!has(name)) return fmt::format("there is no '{}'", name);
  }
  for (const std::string& name : layout.never_has) {
    if (has(name)) {
      return fmt::format("there is a '{}', which that family does not have", name);
    }
  }
  return "";
}

// Whether the fused tensor's inputs are what O writes: GPT-2's and GPT-BigCode's names differ only in their axes.
bool reads_stream(const Checkpoint& checkpoint, const Layout& layout, const std::string& prefix) {
  if (layout.fusion == Fusion::kNone) return true;
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    const auto match = match_layer(tensor->name, layout.q + ".weight");
    if (!match || match->prefix != prefix) continue;
    const StoredTensor* o = checkpoint.find(prefix + layer_name(layout.o, match->layer) + ".weight");
    if (o == nullptr || o->shape.size() != 2 || tensor->shape.size() != 2) return true;
    const bool out_in = layout.storage == Storage::kOutIn;
    return tensor->shape[out_in ? 1 : 0] == o->shape[out_in ? 0 : 1];
  }
  return true;
}

}  // namespace

LayoutSearch find_layout(const Checkpoint& checkpoint, const std::vector<Layout>& layouts, JsonValue config,
                         Modality modality, std::optional<std::size_t> stage) {
  LayoutSearch search;
  for (const Layout& layout : layouts) {
    if (!holds(layout.when, config)) continue;
    if (!layout.prefixes.empty() && layout.prefixes.front().find("{i}") != std::string::npos) {
      search = find_stage(checkpoint, layout, stage);
      if (search.stage) return search;
      search.layout = nullptr;
      continue;
    }
    const auto prefix = find_prefix(checkpoint, layout, modality);
    if (!prefix) {
      if (search.problem.empty()) search.problem = fmt::format("there is no '{}.weight'", layout.o);
      continue;
    }
    // Two naming generations may share O's name.
    if (!has_layer_tensor(checkpoint, *prefix, layout.q + ".weight")) {
      search.problem = fmt::format("there is no '{}{}.weight'", printable(*prefix), layout.q);
      continue;
    }
    const std::string problem = other_tensors(checkpoint, layout, *prefix);
    if (problem.empty()) return {&layout, *prefix, ""};
    search.problem = problem;
  }
  return search;
}

std::vector<FamilyFit> fitting_families(const Checkpoint& checkpoint, std::string_view stated) {
  struct Candidate {
    FamilyFit fit;
    bool own_prefix;
    std::size_t named;  // length of its name if the stated name contains it: xlm-roberta is closer to roberta than to
                        // bert
  };
  std::vector<Candidate> candidates;
  for (const Family& family : known_families()) {
    if (checkpoint.is_gguf() && !family.gguf) continue;
    const LayoutSearch search = find_layout(checkpoint, checkpoint.is_gguf() ? family.gguf->layouts : family.layouts,
                                            checkpoint.is_gguf() ? JsonValue() : checkpoint.config(), family.modality);
    if (search.layout == nullptr || !reads_stream(checkpoint, *search.layout, search.prefix)) continue;
    const auto& prefixes = search.layout->prefixes;
    candidates.push_back({{&family, missing_modules(checkpoint, *search.layout, search.prefix),
                           recognized_tensors(checkpoint, *search.layout, search.prefix)},
                          std::ranges::find(prefixes, search.prefix) != prefixes.end(),
                          stated.find(family.name) == std::string_view::npos ? 0 : family.name.size()});
  }
  std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.fit.missing, b.fit.recognized, b.own_prefix, b.named, b.fit.family->typical) <
           std::tuple(b.fit.missing, a.fit.recognized, a.own_prefix, a.named, a.fit.family->typical);
  });
  std::vector<FamilyFit> fits;
  for (const Candidate& candidate : candidates) fits.push_back(candidate.fit);
  return fits;
}

}  // namespace headscope
