#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/host.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "headscope/apply/reproduce.h"

namespace headscope::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Args {
  ModelWords model;
  bool json = false;
};

std::string_view verdict(std::optional<bool> met) {
  return !met ? "-" : *met ? "met" : "not met";
}

Json profiles_as_json(const Reproduction& result) {
  Json profiles = Json::array();
  for (const ReproducedProfile& profile : result.profiles) {
    Json row = {{"name", profile.name}, {"published", profile.published}};
    for (const WeightProcessing weights : {WeightProcessing::kFolded, WeightProcessing::kRaw}) {
      const Json ours = {{"ours", profile.ours(weights)}, {"shared", profile.shared(weights)}};
      row[std::string(to_string(weights))] = result.no_profiles.empty() ? ours : Json(nullptr);
    }
    if (!result.no_profiles.empty()) row["not_compared"] = result.no_profiles;
    profiles.push_back(std::move(row));
  }
  return profiles;
}

Json uncompared_as_json(const Reproduction& result) {
  Json rows = Json::array();
  for (const UncomparedFigure& figure : result.uncompared) {
    rows.push_back({{"name", figure.name}, {"published", figure.published}, {"not_compared", figure.reason}});
  }
  return rows;
}

Json as_json(const Reproduction& result) {
  Json figures = Json::array();
  for (const ReproducedFigure& figure : result.figures) {
    Json row = {{"name", figure.name}, {"published", figure.published}, {"tolerance", figure.tolerance}};
    for (const WeightProcessing weights : {WeightProcessing::kFolded, WeightProcessing::kRaw}) {
      const auto met = figure.met(weights);
      row[std::string(to_string(weights))] = {{"ours", figure.ours(weights)},
                                              {"met", met ? Json(*met) : Json(nullptr)}};
    }
    figures.push_back(std::move(row));
  }
  return {{"source", result.source},
          {"is_gpt2_small", result.weights.has_value()},
          {"weights", result.weights ? Json(to_string(*result.weights)) : Json(nullptr)},
          {"figures", figures},
          {"token_profiles", profiles_as_json(result)},
          {"not_compared", uncompared_as_json(result)}};
}

// The published words of every profile, how many of them are among our tokens, and which those are.
void print_profiles(const Reproduction& result, std::ostream& out) {
  for (const ReproducedProfile& profile : result.profiles) {
    out << fmt::format("tokens near {:<8} published  {}\n", profile.name, fmt::join(profile.published, " "));
    if (!result.no_profiles.empty()) {
      out << fmt::format("{:<20} not compared: {}\n", "", result.no_profiles);
      continue;
    }
    for (const WeightProcessing weights : {WeightProcessing::kFolded, WeightProcessing::kRaw}) {
      out << fmt::format("{:<20} {:<10} {} of {} in our top {}: {}\n", "", to_string(weights), profile.shared(weights),
                         profile.published.size(), profile.ours(weights).size(), fmt::join(profile.ours(weights), " "));
    }
  }
  out << '\n';
}

void print_uncompared(const Reproduction& result, std::ostream& out) {
  for (const UncomparedFigure& figure : result.uncompared) {
    out << fmt::format("{:<28} published  {}; not compared: {}\n", figure.name, figure.published, figure.reason);
  }
  out << '\n';
}

void print_table(const Reproduction& result, std::ostream& out) {
  out << result.source << "\n\n";
  out << fmt::format("{:<28} {:>9} {:>9}   {:>9} {:<8} {:>9} {:<8}\n", "figure", "published", "+-", "folded", "", "raw",
                     "");
  for (const ReproducedFigure& figure : result.figures) {
    out << fmt::format("{:<28} {:>9.4g} {:>9}   {:>9.4g} {:<8} {:>9.4g} {:<8}\n", figure.name, figure.published,
                       figure.tolerance == 0 ? "-" : fmt::format("{:.4g}", figure.tolerance), figure.folded,
                       verdict(figure.met(WeightProcessing::kFolded)), figure.raw,
                       verdict(figure.met(WeightProcessing::kRaw)));
  }
  out << '\n';
}

void print_verdict(const Reproduction& result, std::ostream& out) {
  if (result.weights) {
    out << fmt::format("The means and the six cut-offs are met with {} weights: that is what the paper used.\n",
                       to_string(*result.weights));
  } else {
    out << "The model has GPT-2 small's shape but meets the means and cut-offs with neither weight processing: it is "
           "not GPT-2 small.\n";
  }
}

}  // namespace

void add_reproduce_command(Command& app, Session& session) {
  auto args = std::make_shared<Args>();  // lives as long as the callback
  Command command = app.add_command("reproduce", "The figures published for GPT-2 small, beside ours");
  add_model_options(command, args->model);
  command.add_flag("--json", args->json, "Print everything as JSON");
  add_threads_option(command);
  add_quiet_option(command, session);
  command.footer("Example: headscope reproduce models/gpt2");
  command.callback([args, &session] {
    const auto opened = open_model(session, args->model);
    const Model& model = *opened;
    watch_for_interrupts();
    constexpr std::size_t kSteps = 1000;
    Reproduction result;
    {
      Progress progress(session, "measuring", kSteps);
      result = reproduce(model, progress.context());
    }
    if (args->json) {
      session.out << as_json(result).dump(2) << '\n';
    } else {
      print_table(result, session.out);
      print_profiles(result, session.out);
      print_uncompared(result, session.out);
      print_verdict(result, session.out);
    }
  });
}

}  // namespace headscope::cli
