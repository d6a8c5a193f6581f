#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/host.h"
#include "cli/progress.h"
#include "headscope/base/error.h"
#include "headscope/model/model.h"
#include "headscope/model/readiness.h"

namespace headscope::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Args {
  ModelWords model;
  bool json = false;
  bool tensors = false;
  bool check = false;
};

// "not in this version" is said here, where the commands are known.
struct CommandState {
  Readiness readiness;
  bool exists;
};

std::vector<CommandState> command_states(const Model& model, const Command& app) {
  std::vector<CommandState> states;
  const std::vector<std::string> names = app.command_names();
  for (Readiness& readiness : headscope::readiness(model)) {
    const bool exists = std::ranges::find(names, readiness.command) != names.end();
    states.push_back({std::move(readiness), exists});
  }
  return states;
}

std::string dtype_names(const ModelInfo& info) {
  std::vector<std::string_view> names;
  for (const DType dtype : info.dtypes) names.push_back(headscope::info(dtype).name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string biased_roles(const ModelInfo& info) {
  std::string roles;
  for (const Role role : kRoles) {
    if (info.biases[static_cast<std::size_t>(role)]) roles += letter(role);
  }
  return roles;
}

bool tied(const ModelInfo& info) {
  return !info.embedding.empty() && info.embedding == info.unembedding;
}

Json name_or_null(const std::string& name) {
  return name.empty() ? Json(nullptr) : Json(name);
}

Json as_json(const Model& model, const Command& app) {
  const ModelInfo& info = model.info();
  Json commands = Json::object();
  for (const CommandState& state : command_states(model, app)) {
    commands[state.readiness.command] = {{"works", state.readiness.ready && state.exists},
                                         {"in_this_version", state.exists},
                                         {"reason", state.readiness.reason}};
  }
  const ModelLocation& location = model.checkpoint().location();
  return {{"model", location.path.string()},
          {"repository", name_or_null(location.repository)},
          {"commit", name_or_null(location.commit)},
          {"format", model.checkpoint().is_gguf() ? "gguf" : "safetensors"},
          {"files", model.checkpoint().file_count()},
          {"family", info.family},
          {"modality", to_string(info.modality)},
          {"causal", info.causal},
          {"layers", info.sizes.layers},
          {"heads", info.sizes.heads},
          {"kv_heads", info.sizes.kv_heads},
          {"d_model", info.sizes.d_model},
          {"d_head", info.sizes.d_head},
          {"dtype", dtype_names(info)},
          {"position", to_string(info.position)},
          {"norm", to_string(info.norm)},
          {"norm_order", to_string(info.order)},
          {"biases", biased_roles(info)},
          {"embedding", name_or_null(info.embedding)},
          {"unembedding", name_or_null(info.unembedding)},
          {"tied_embeddings", tied(info)},
          {"commands", commands},
          {"notes", info.notes},
          {"tensors_used", info.used},
          {"tensors_ignored", info.ignored},
          {"tensors_missing", info.missing}};
}

void print_row(std::ostream& out, std::string_view name, const std::string& value) {
  out << fmt::format("{:<12} {}\n", name, value);
}

// A few names, or all of them.
void print_names(std::ostream& out, std::string_view title, const std::vector<std::string>& names, bool all) {
  constexpr std::size_t kFew = 3;
  print_row(out, title, std::to_string(names.size()));
  const std::size_t shown = all ? names.size() : std::min(kFew, names.size());
  for (std::size_t i = 0; i < shown; ++i) out << fmt::format("{:<12}   {}\n", "", printable(names[i]));
  if (shown < names.size())
    out << fmt::format("{:<12}   ... ({} more; --tensors lists all)\n", "", names.size() - shown);
}

void print_table(const Model& model, const Command& app, bool all_tensors, std::ostream& out) {
  const ModelInfo& info = model.info();
  const HeadSizes& sizes = info.sizes;
  constexpr std::size_t kMaxPathLength = 4096;
  const std::string embedding = info.embedding.empty() ? "none"
                                : tied(info)           ? info.embedding + " (tied: reads and writes tokens)"
                                                       : info.embedding;
  print_row(out, "model", printable(model.checkpoint().path().string(), kMaxPathLength));
  if (const ModelLocation& location = model.checkpoint().location(); location.is_cached()) {
    print_row(out, "repository", location.repository);
    print_row(out, "commit", location.commit);
  }
  print_row(out, "format",
            fmt::format("{}, {} file{}", model.checkpoint().is_gguf() ? "GGUF" : "safetensors",
                        model.checkpoint().file_count(), model.checkpoint().file_count() == 1 ? "" : "s"));
  print_row(
      out, "family",
      fmt::format("{} ({}, {})", info.family, to_string(info.modality), info.causal ? "causal" : "bidirectional"));
  print_row(out, "layers", std::to_string(sizes.layers));
  print_row(out, "heads", fmt::format("{} a layer, {} in all", sizes.heads, sizes.heads * sizes.layers));
  print_row(out, "KV heads",
            sizes.kv_heads == sizes.heads ? fmt::format("{} a layer", sizes.kv_heads)
                                          : fmt::format("{} a layer, each shared by {} query heads", sizes.kv_heads,
                                                        sizes.heads / sizes.kv_heads));
  print_row(out, "width", fmt::format("{} (residual stream), {} (head)", sizes.d_model, sizes.d_head));
  print_row(out, "dtype", dtype_names(info));
  print_row(out, "position", std::string(to_string(info.position)));
  print_row(out, "norm",
            fmt::format("{}, {} attention", to_string(info.norm), info.order == NormOrder::kPre ? "before" : "after"));
  print_row(out, "biases", biased_roles(info).empty() ? "none" : biased_roles(info));
  print_row(out, "embedding", printable(embedding));
  if (!info.unembedding.empty() && !tied(info)) print_row(out, "unembedding", printable(info.unembedding));
  for (const std::string& note : info.notes) print_row(out, "note", note);
  out << '\n';
  print_names(out, "tensors used", info.used, all_tensors);
  print_names(out, "ignored", info.ignored, all_tensors);
  print_names(out, "missing", info.missing, all_tensors);
  out << '\n';
  for (const CommandState& state : command_states(model, app)) {
    const std::string_view verdict = !state.readiness.ready ? "no" : state.exists ? "yes" : "not in this version";
    print_row(out, state.readiness.command, fmt::format("{} ({})", verdict, state.readiness.reason));
  }
}

// Reads every head's weights; the first that is not a finite number is an error.
void check_weights(const Model& model, Session& session) {
  const std::size_t layers = model.info().sizes.layers;
  Progress progress(session, "checking weights", layers);
  std::array<HeadWeights, 4> heads;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    heads = model.load_layer(layer, WeightProcessing::kFolded, std::move(heads));
    progress.advance();
  }
}

}  // namespace

void add_inspect_command(Command& app, Session& session) {
  auto args = std::make_shared<Args>();  // lives as long as the callback
  Command command = app.add_command("inspect", "Family, sizes, heads, tensors, and what can be done with a model");
  add_model_options(command, args->model);
  command.add_flag("--json", args->json, "Print everything as JSON");
  command.add_flag("--tensors", args->tensors, "List every tensor by name");
  command.add_flag("--check", args->check, "Read the weights of all heads and fail if one is NaN or Inf");
  add_threads_option(command);
  add_quiet_option(command, session);
  command.footer("Example: headscope inspect models/gpt2 --json");
  command.callback([args, &app, &session] {
    const auto opened = open_model(session, args->model);
    const Model& model = *opened;
    if (args->check) check_weights(model, session);
    if (args->json) {
      // Names are bytes from a file; what is not UTF-8 is replaced rather than refused.
      session.out << as_json(model, app).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    } else {
      print_table(model, app, args->tensors, session.out);
    }
  });
}

}  // namespace headscope::cli
