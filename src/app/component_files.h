#pragma once

#include <string>

#include "app/json_text.h"
#include "headscope/app/relate.h"
#include "headscope/run/run_folder.h"

namespace headscope::app {

/// Adds the files about components other than heads: components.csv, component_edges.csv, component_hubs.csv,
/// component_wiring.csv, components/*.npy and graph_mib.json. Adds nothing if they were not compared.
void add_components(RunFolder& folder, const RelateOutcome& outcome);

/// Adds neurons.csv and neuron_tokens.csv, if neurons were asked for.
void add_neurons(RunFolder& folder, const RelateOutcome& outcome);

/// The sentence of relate's verdict about components; empty if they were not compared.
[[nodiscard]] std::string component_sentence(const RelateOutcome& outcome);

/// Lines of relate's summary about components; empty if they were not compared.
[[nodiscard]] std::string component_lines(const RelateOutcome& outcome);

/// Adds "components" to the JSON, if they were compared.
void add_component_json(const RelateOutcome& outcome, Json& root);

}  // namespace headscope::app
