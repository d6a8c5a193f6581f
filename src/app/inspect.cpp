#include "headscope/app/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "app/json_text.h"
#include "app/run_output.h"
#include "headscope/base/error.h"
#include "headscope/model/model_facts.h"

namespace headscope {
namespace {

using namespace app;

std::vector<CommandReadiness> command_readiness(const Model& model) {
  const std::vector<std::unique_ptr<Command>> all = all_commands();
  std::vector<CommandReadiness> states;
  for (Readiness& readiness : headscope::readiness(model)) {
    const bool exists =
        std::ranges::any_of(all, [&](const auto& command) { return command->info().name == readiness.command; });
    states.push_back({std::move(readiness), exists});
  }
  return states;
}

// Reads every head's weights; a value that is not finite is an error.
void check_weights(const Model& model, const Context& context) {
  const std::size_t layers = model.info().sizes.layers;
  std::array<HeadWeights, 4> heads;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    heads = model.load_layer(layer, WeightProcessing::kFolded, std::move(heads));
    context.report(static_cast<double>(layer + 1) / static_cast<double>(layers));
  }
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

bool is_tied(const ModelInfo& info) {
  return !info.embedding.empty() && info.embedding == info.unembedding;
}

Json name_or_null(const std::string& name) {
  return name.empty() ? Json(nullptr) : Json(name);
}

std::string row(std::string_view name, std::string_view value) {
  return fmt::format("{:<12} {}\n", name, value);
}

// The number of names, and the first few of them or all.
std::string name_lines(std::string_view title, const std::vector<std::string>& names, bool all) {
  constexpr std::size_t kFew = 3;
  std::string lines = row(title, std::to_string(names.size()));
  const std::size_t shown = all ? names.size() : std::min(kFew, names.size());
  for (std::size_t i = 0; i < shown; ++i) lines += row("", "  " + printable(names[i]));
  if (shown < names.size()) {
    lines += row("", fmt::format("  ... ({} more; --tensors lists all)", names.size() - shown));
  }
  return lines;
}

std::string file_lines(const InspectOutcome& outcome) {
  constexpr std::size_t kMaxPathLength = 4096;
  std::string lines = row("model", printable(outcome.location.path.string(), kMaxPathLength));
  if (outcome.location.is_cached()) {
    lines += row("repository", outcome.location.repository);
    lines += row("commit", outcome.location.commit);
  }
  lines += row("format", fmt::format("{}, {} file{}", outcome.is_gguf ? "GGUF" : "safetensors", outcome.file_count,
                                     outcome.file_count == 1 ? "" : "s"));
  return lines;
}

// "124 M", "1.1 B"
std::string count_text(std::uint64_t count) {
  constexpr double kThousand = 1e3;
  const auto number = static_cast<double>(count);
  if (number < kThousand) return std::to_string(count);
  double scaled = number;
  for (const char* unit : {"K", "M", "B", "T"}) {
    scaled /= kThousand;
    if (scaled < kThousand - 0.5) return fmt::format("{:.3g} {}", scaled, unit);
  }
  return fmt::format("{:.0f} T", scaled);
}

// "gpt2: 12 layers of 12 heads, 124 M parameters"
std::string headline(const InspectOutcome& outcome) {
  const HeadSizes& sizes = outcome.model.sizes;
  return fmt::format("{}: {} layer{} of {} heads, {} parameters\n\n", outcome.model.family, sizes.layers,
                     sizes.layers == 1 ? "" : "s", sizes.heads, count_text(outcome.parameters));
}

std::string input_lines(const InspectOutcome& outcome) {
  std::string lines = row("parameters", fmt::format("{} ({})", outcome.parameters, count_text(outcome.parameters)));
  if (outcome.context_length) lines += row("context", fmt::format("{} tokens", *outcome.context_length));
  if (outcome.model.modality == Modality::kText) lines += row("tokenizer", outcome.has_tokenizer ? "yes" : "none");
  return lines;
}

std::string model_lines(const ModelInfo& info) {
  const HeadSizes& sizes = info.sizes;
  const std::string kv_heads =
      sizes.kv_heads == sizes.heads
          ? fmt::format("{} per layer", sizes.kv_heads)
          : fmt::format("{} per layer, each shared by {} query heads", sizes.kv_heads, sizes.heads / sizes.kv_heads);
  std::string width = std::to_string(sizes.d_head);
  if (sizes.width(Role::kQ) != sizes.d_head || sizes.width(Role::kK) != sizes.d_head) {
    width = fmt::format("Q {}, K {}, V and O {}", sizes.width(Role::kQ), sizes.width(Role::kK), sizes.d_head);
  }
  if (sizes.d_rotary > 0) width += fmt::format("; rotary key shared by all heads {}", sizes.d_rotary);
  const std::string embedding = info.embedding.empty() ? "none"
                                : is_tied(info)        ? info.embedding + " (tied: reads and writes tokens)"
                                                       : info.embedding;
  std::string lines = row("family", fmt::format("{} ({}, {})", info.family, to_string(info.modality),
                                                sizes.has_blocks() ? "encoder and decoder"
                                                : info.causal      ? "causal"
                                                                   : "bidirectional"));
  if (!info.tower.empty()) {
    const std::string others = fmt::format("{}", fmt::join(info.other_towers, ", "));
    lines +=
        row("tower", others.empty() ? info.tower : fmt::format("{} (--tower {} opens the other)", info.tower, others));
  }
  lines += row("layers", !sizes.has_blocks()
                             ? std::to_string(sizes.layers)
                             : fmt::format("{} of attention: {} encoder, {} decoder, {} cross", sizes.layers,
                                           sizes.encoder_layers, sizes.decoder_layers, sizes.decoder_layers));
  lines += row("heads", fmt::format("{} per layer, {} in total", sizes.heads, sizes.heads * sizes.layers));
  lines += row("KV heads", kv_heads);
  lines += row("width", fmt::format("{} (residual stream), {} (head)", sizes.d_model, width));
  lines += row("dtype", dtype_names(info));
  lines += row("position", to_string(info.position));
  const std::string_view where = !info.input_norm                ? "only on the outputs of attention and MLP"
                                 : info.order == NormOrder::kPre ? "before attention"
                                                                 : "after attention";
  lines += row("norm", fmt::format("{}, {}", to_string(info.norm), where));
  lines += row("biases", biased_roles(info).empty() ? "none" : biased_roles(info));
  lines += row("embedding", printable(embedding));
  if (!info.unembedding.empty() && !is_tied(info)) lines += row("unembedding", printable(info.unembedding));
  for (const std::string& note : info.notes) lines += row("note", note);
  return lines;
}

}  // namespace

void describe(InspectRequest& request, OptionList& options) {
  describe(request.model, options);
  options.add("tensors", request.tensors, "List every tensor by name");
  options.add("check", request.check, "Read the weights of all heads and fail if one is NaN or Inf");
  describe_threads(request.resources, options);
}

std::optional<InspectOutcome> run(const InspectRequest& request, const Context& caller) {
  const Stopwatch watch;
  const Context context = make_context(request.resources, caller).on_one_rank();
  const auto opened = request.model.open();
  const Model& model = *opened;
  if (request.check) check_weights(model, context.with_stage("checking weights"));
  InspectOutcome outcome;
  outcome.model = model.info();
  outcome.location = model.checkpoint().location();
  outcome.is_gguf = model.checkpoint().is_gguf();
  outcome.file_count = model.checkpoint().file_count();
  outcome.parameters = parameter_count(model.checkpoint());
  outcome.context_length = context_length(model);
  outcome.has_tokenizer = has_tokenizer(model.checkpoint());
  outcome.commands = command_readiness(model);
  outcome.lists_tensors = request.tensors;
  outcome.files.seconds = watch.seconds();
  return outcome;
}

std::string summary(const InspectOutcome& outcome) {
  const ModelInfo& info = outcome.model;
  std::string text = headline(outcome) + file_lines(outcome) + model_lines(info) + input_lines(outcome) + "\n";
  text += name_lines("tensors used", info.used, outcome.lists_tensors);
  text += name_lines("ignored", info.ignored, outcome.lists_tensors);
  text += name_lines("missing", info.missing, outcome.lists_tensors);
  text += "\n";
  for (const auto& [readiness, exists] : outcome.commands) {
    const std::string_view verdict = !readiness.ready ? "no" : exists ? "yes" : "not in this version";
    text += row(readiness.command, fmt::format("{} ({})", verdict, readiness.reason));
  }
  return text;
}

std::string to_json(const InspectOutcome& outcome) {
  const ModelInfo& info = outcome.model;
  Json commands = Json::object();
  for (const auto& [readiness, exists] : outcome.commands) {
    commands[readiness.command] = {
        {"works", readiness.ready && exists}, {"in_this_version", exists}, {"reason", readiness.reason}};
  }
  return json_text({{"model", outcome.location.path.string()},
                    {"repository", name_or_null(outcome.location.repository)},
                    {"commit", name_or_null(outcome.location.commit)},
                    {"format", outcome.is_gguf ? "gguf" : "safetensors"},
                    {"files", outcome.file_count},
                    {"family", info.family},
                    {"tower", name_or_null(info.tower)},
                    {"other_towers", info.other_towers},
                    {"modality", to_string(info.modality)},
                    {"causal", info.causal},
                    {"layers", info.sizes.layers},
                    {"encoder_layers", info.sizes.encoder_layers},
                    {"decoder_layers", info.sizes.decoder_layers},
                    {"heads", info.sizes.heads},
                    {"kv_heads", info.sizes.kv_heads},
                    {"d_model", info.sizes.d_model},
                    {"d_head", info.sizes.d_head},
                    {"widths",
                     {{"Q", info.sizes.width(Role::kQ)},
                      {"K", info.sizes.width(Role::kK)},
                      {"V", info.sizes.width(Role::kV)},
                      {"O", info.sizes.width(Role::kO)},
                      {"shared_rotary_key", info.sizes.d_rotary}}},
                    {"parameters", outcome.parameters},
                    {"context_length", outcome.context_length ? Json(*outcome.context_length) : Json(nullptr)},
                    {"tokenizer", outcome.has_tokenizer},
                    {"dtype", dtype_names(info)},
                    {"position", to_string(info.position)},
                    {"norm", to_string(info.norm)},
                    {"norm_order", to_string(info.order)},
                    {"biases", biased_roles(info)},
                    {"embedding", name_or_null(info.embedding)},
                    {"unembedding", name_or_null(info.unembedding)},
                    {"tied_embeddings", is_tied(info)},
                    {"commands", commands},
                    {"notes", info.notes},
                    {"tensors_used", info.used},
                    {"tensors_ignored", info.ignored},
                    {"tensors_missing", info.missing}});
}

}  // namespace headscope
