#include "app/run_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "headscope/app/input_sources.h"
#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/base/parallel.h"
#include "headscope/base/system.h"
#include "headscope/io/recognize.h"
#include "headscope/linalg/kernels.h"
#include "headscope/run/schema.h"

namespace headscope {

std::string_view version() noexcept {
  return HEADSCOPE_VERSION;
}

}  // namespace headscope

namespace headscope::app {

namespace {

// A model's folder with results in it can no longer be told from either.
void reject_model_folder(const OutputTarget& target) {
  std::error_code ignored;
  if (target.force || std::filesystem::exists(target.run / run_files::kManifest, ignored)) return;
  if (recognize_model(target.run).empty()) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("--output: {} is the folder of a model; give results one of their own, e.g. -o run, or --force "
                  "to put them there",
                  printable(target.run.string(), 1000)));
}

}  // namespace

RunOutput::RunOutput(const OutputTarget& target, RunCommand command, Stopwatch watch) : watch_(watch) {
  if (target.run.empty()) {
    memory_ = std::make_shared<InMemoryRun>();
    folder_ = std::make_unique<RunFolder>(std::move(command), *memory_);
  } else {
    reject_model_folder(target);
    folder_ = std::make_unique<RunFolder>(target.run, std::move(command), target.force);
  }
}

RunFiles RunOutput::finish(const Context& context) {
  RunFiles files;
  files.seconds = watch_.seconds();
  folder_->circumstances()["seconds"] = fmt::format("{:.2f}", files.seconds);
  folder_->circumstances()["peak_memory"] = std::to_string(peak_memory());
  if (context.poll) context.poll();
  files.names = folder_->files();
  if (memory_ == nullptr) files.folder = folder_->path();
  folder_->commit();
  files.memory = memory_;
  return files;
}

void describe_resources(RunCommand& command, const Resources& resources) {
  command.circumstances["threads"] = std::to_string(thread_count());
  command.circumstances["memory"] = size_form().format(resources.memory);
  command.circumstances["kernels"] = kernel_name();
}

void describe_model(RunCommand& command, const Model& model, const std::string& fingerprint) {
  command.identity["model"] = fingerprint;
  if (model.info().family_overridden) command.identity["family"] = model.info().family;
  if (!model.info().tower.empty()) command.identity["tower"] = model.info().tower;
  const ModelLocation& location = model.checkpoint().location();
  command.origins["model"] = {{location.is_cached() ? location.repository : location.path.string(), fingerprint}};
  if (!location.is_cached()) return;
  command.circumstances["repository"] = location.repository;
  command.circumstances["commit"] = location.commit;
}

OutputTarget target_of(const OutputTarget& output, const Model& model) {
  OutputTarget target = output;
  if (!target.run.empty() && model.info().tower_requested) target.run /= model.info().tower;
  return target;
}

void describe_contents(RunCommand& command, const std::string& key, std::span<const DescribedInput> inputs) {
  constexpr std::size_t kBeginning = 60;
  command.identity[key] = fingerprint(inputs);
  std::vector<RunOrigin>& origins = command.origins[key];
  for (const DescribedInput& one : inputs) {
    const bool is_text =
        one.file.empty() && std::ranges::any_of(one.tokens, [](const InputToken& token) { return token.end > 0; });
    origins.push_back(
        {is_text ? fmt::format("'{}'", printable(one.source, kBeginning)) : one.name, fingerprint(std::span(&one, 1))});
  }
}

Context make_context(const Resources& resources, const Context& context) {
  if (resources.threads) set_thread_count(*resources.threads);
  const Context own = context.with_memory(resources.memory);
  return own.without_memory(context.whole_process ? process_footprint(thread_count()) : 0);
}

std::string files_line(const RunFiles& files, const std::string& detail) {
  constexpr std::size_t kMaxLength = 4096;
  constexpr std::size_t kMaxNamed = 2;
  const bool named = !files.names.empty() && files.names.size() <= kMaxNamed;
  const std::string what =
      named ? fmt::format("{}", fmt::join(files.names, " and ")) : fmt::format("{} files", files.names.size());
  const std::string where = files.folder.empty() ? "" : " in " + printable(files.folder.string(), kMaxLength);
  return fmt::format("{}{} ({}{}{:.1f} s)\n", what, where, detail, detail.empty() ? "" : ", ", files.seconds);
}

}  // namespace headscope::app
