#include "headscope/app/reproduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "app/json_text.h"
#include "app/run_output.h"

namespace headscope {
namespace {

using namespace app;

constexpr std::array kBothWeights = {WeightProcessing::kFolded, WeightProcessing::kRaw};

std::string_view verdict(std::optional<bool> met) {
  return !met ? "-" : *met ? "met" : "not met";
}

std::string figure_lines(const Reproduction& result) {
  std::string lines = fmt::format("{:<28} {:>9} {:>9}   {:>9} {:<8} {:>9} {:<8}\n", "figure", "published", "+-",
                                  "folded", "", "raw", "");
  for (const ReproducedFigure& figure : result.figures) {
    lines += fmt::format("{:<28} {:>9.4g} {:>9}   {:>9.4g} {:<8} {:>9.4g} {:<8}\n", figure.name, figure.published,
                         figure.tolerance == 0 ? "-" : fmt::format("{:.4g}", figure.tolerance), figure.folded,
                         verdict(figure.met(WeightProcessing::kFolded)), figure.raw,
                         verdict(figure.met(WeightProcessing::kRaw)));
  }
  return lines;
}

// For every profile the published words, how many of them are among our tokens, and our tokens.
std::string profile_lines(const Reproduction& result) {
  std::string lines;
  for (const ReproducedProfile& profile : result.profiles) {
    lines += fmt::format("tokens near {:<8} published  {}\n", profile.name, fmt::join(profile.published, " "));
    if (!result.no_profiles.empty()) {
      lines += fmt::format("{:<20} not compared: {}\n", "", result.no_profiles);
      continue;
    }
    for (const WeightProcessing weights : kBothWeights) {
      lines +=
          fmt::format("{:<20} {:<10} {} of {} in our top {}: {}\n", "", to_string(weights), profile.shared(weights),
                      profile.published.size(), profile.ours(weights).size(), fmt::join(profile.ours(weights), " "));
    }
  }
  return lines;
}

std::string uncompared_lines(const Reproduction& result) {
  std::string lines;
  for (const UncomparedFigure& figure : result.uncompared) {
    lines += fmt::format("{:<28} published  {}; not compared: {}\n", figure.name, figure.published, figure.reason);
  }
  return lines;
}

std::string verdict_line(const Reproduction& result) {
  if (!result.weights) {
    return "The model has the shape of GPT-2 small but meets the means and cut-offs with neither weight processing: it "
           "is not GPT-2 small.\n";
  }
  return fmt::format("The means and the six cut-offs are met with {} weights: these are what the paper used.\n",
                     to_string(*result.weights));
}

Json figures_json(const Reproduction& result) {
  Json figures = Json::array();
  for (const ReproducedFigure& figure : result.figures) {
    Json entry = {{"name", figure.name}, {"published", figure.published}, {"tolerance", figure.tolerance}};
    for (const WeightProcessing weights : kBothWeights) {
      const auto met = figure.met(weights);
      entry[std::string(to_string(weights))] = {{"ours", figure.ours(weights)},
                                                {"met", met ? Json(*met) : Json(nullptr)}};
    }
    figures.push_back(std::move(entry));
  }
  return figures;
}

Json profiles_json(const Reproduction& result) {
  Json profiles = Json::array();
  for (const ReproducedProfile& profile : result.profiles) {
    Json entry = {{"name", profile.name}, {"published", profile.published}};
    for (const WeightProcessing weights : kBothWeights) {
      const Json ours = {{"ours", profile.ours(weights)}, {"shared", profile.shared(weights)}};
      entry[std::string(to_string(weights))] = result.no_profiles.empty() ? ours : Json(nullptr);
    }
    if (!result.no_profiles.empty()) entry["not_compared"] = result.no_profiles;
    profiles.push_back(std::move(entry));
  }
  return profiles;
}

Json uncompared_json(const Reproduction& result) {
  Json entries = Json::array();
  for (const UncomparedFigure& figure : result.uncompared) {
    entries.push_back({{"name", figure.name}, {"published", figure.published}, {"not_compared", figure.reason}});
  }
  return entries;
}

}  // namespace

void describe(ReproduceRequest& request, OptionList& options) {
  describe(request.model, options);
  describe(request.resources, options);
}

std::optional<ReproduceOutcome> run(const ReproduceRequest& request, const Context& caller) {
  const Stopwatch watch;
  const Context context = make_context(request.resources, caller).on_one_rank();
  const auto opened = request.model.open();
  require_one_block(*opened, "reproduce");
  ReproduceOutcome outcome;
  outcome.model = opened->info();
  outcome.result = reproduce(*opened, context.with_stage("measuring"));
  outcome.files.seconds = watch.seconds();
  return outcome;
}

std::string summary(const ReproduceOutcome& outcome) {
  const Reproduction& result = outcome.result;
  return fmt::format("{}\n\n{}\n{}\n{}\n{}", result.source, figure_lines(result), profile_lines(result),
                     uncompared_lines(result), verdict_line(result));
}

std::string to_json(const ReproduceOutcome& outcome) {
  const Reproduction& result = outcome.result;
  return json_text({{"source", result.source},
                    {"is_gpt2_small", result.weights.has_value()},
                    {"weights", result.weights ? Json(to_string(*result.weights)) : Json(nullptr)},
                    {"figures", figures_json(result)},
                    {"token_profiles", profiles_json(result)},
                    {"not_compared", uncompared_json(result)}});
}

}  // namespace headscope
