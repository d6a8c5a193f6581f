#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "bindings.h"
#include "headscope/base/error.h"
#include "held_results.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headscope::python {
namespace {

// Results in memory as plain Python objects and back: what pickle stores. A file of bytes keeps them; a table its
// columns, in which integers that may be missing are floats with NaN.

constexpr std::array kTypes = {ColumnType::kText,  ColumnType::kInteger, ColumnType::kOptionalInteger,
                               ColumnType::kFloat, ColumnType::kDouble,  ColumnType::kFlag};

using Identity = std::map<std::string, std::string>;
using Origins = std::map<std::string, std::vector<std::pair<std::string, std::string>>>;
using CommandState =
    std::tuple<std::string, std::vector<std::string>, Identity, Identity, Origins, std::vector<std::string>>;
using FileState = std::tuple<std::string, std::string, std::string, Shape, std::string, std::vector<std::string>,
                             nb::object>;  // bytes, or a list of columns

nb::bytes bytes_of(std::span<const std::byte> bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

template <typename T>
std::vector<T> values_of(const nb::bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::copy_n(static_cast<const char*>(bytes.data()), values.size() * sizeof(T),
              reinterpret_cast<char*>(values.data()));
  return values;
}

nb::object state_of(const ColumnValues& values) {
  if (const auto* texts = std::get_if<std::vector<std::string>>(&values)) {
    nb::list list;
    for (const std::string& text : *texts) list.append(nb::bytes(text.data(), text.size()));
    return list;
  }
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&values)) {
    return bytes_of(std::as_bytes(std::span(*integers)));
  }
  if (const auto* flags = std::get_if<std::vector<std::uint8_t>>(&values)) {
    return bytes_of(std::as_bytes(std::span(*flags)));
  }
  return bytes_of(std::as_bytes(std::span(std::get<std::vector<double>>(values))));
}

nb::list state_of(const Table& table) {
  nb::list columns;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const ColumnSpec& spec = table.columns()[i];
    const auto type = std::ranges::find(kTypes, spec.type) - kTypes.begin();
    columns.append(nb::make_tuple(spec.name, type, state_of(table.values(i))));
  }
  return columns;
}

std::vector<Cell> cells_of(ColumnType type, const nb::object& state) {
  std::vector<Cell> cells;
  switch (type) {
    case ColumnType::kText:
      for (const nb::handle text : nb::cast<nb::list>(state)) {
        const auto bytes = nb::cast<nb::bytes>(text);
        cells.emplace_back(std::string(bytes.c_str(), bytes.size()));
      }
      break;
    case ColumnType::kInteger:
      for (const std::int64_t value : values_of<std::int64_t>(nb::cast<nb::bytes>(state))) cells.emplace_back(value);
      break;
    case ColumnType::kFlag:
      for (const std::uint8_t value : values_of<std::uint8_t>(nb::cast<nb::bytes>(state)))
        cells.emplace_back(value != 0);
      break;
    case ColumnType::kOptionalInteger:
      for (const double value : values_of<double>(nb::cast<nb::bytes>(state))) {
        cells.emplace_back(std::isnan(value) ? std::nullopt : std::optional(static_cast<std::int64_t>(value)));
      }
      break;
    case ColumnType::kFloat:
    case ColumnType::kDouble:
      for (const double value : values_of<double>(nb::cast<nb::bytes>(state))) cells.emplace_back(value);
      break;
  }
  return cells;
}

Table table_of(const nb::list& state) {
  std::vector<ColumnSpec> specs;
  std::vector<std::vector<Cell>> columns;
  for (const nb::handle column : state) {
    const auto [name, type, values] = nb::cast<std::tuple<std::string, std::size_t, nb::object>>(column);
    specs.push_back({name, kTypes.at(type)});
    columns.push_back(cells_of(specs.back().type, values));
  }
  Table table(specs);
  for (std::size_t row = 0; !columns.empty() && row < columns.front().size(); ++row) {
    std::vector<Cell> cells;
    for (const std::vector<Cell>& column : columns) cells.push_back(column.at(row));
    table.add_row(cells);
  }
  return table;
}

std::pair<CommandState, std::vector<FileState>> state_of(const HeldRun& held) {
  const RunCommand& command = held.run->command;
  std::vector<FileState> files;
  for (const InMemoryFile& one : held.run->files) {
    nb::object content = one.table ? nb::object(state_of(*one.table)) : nb::object(bytes_of(*one.bytes));
    files.emplace_back(one.file.name, one.file.kind, one.file.about, one.file.shape, one.file.dtype, one.file.axes,
                       std::move(content));
  }
  Origins origins;
  for (const auto& [key, list] : command.origins) {
    for (const RunOrigin& one : list) origins[key].emplace_back(one.name, one.fingerprint);
  }
  return {{command.name, command.arguments, command.identity, command.circumstances, origins, command.verdict},
          std::move(files)};
}

HeldRun run_of(const CommandState& command, const std::vector<FileState>& files) {
  auto run = std::make_shared<InMemoryRun>();
  const auto& [name, arguments, identity, circumstances, origins, verdict] = command;
  run->command = {
      .name = name, .arguments = arguments, .identity = identity, .circumstances = circumstances, .verdict = verdict};
  for (const auto& [key, list] : origins) {
    for (const auto& [known_as, fingerprint] : list) run->command.origins[key].push_back({known_as, fingerprint});
  }
  for (const auto& [file, kind, about, shape, dtype, axes, content] : files) {
    InMemoryFile one{.file = {file, kind, about, shape, dtype, axes}, .bytes = nullptr};
    if (nb::isinstance<nb::bytes>(content)) {
      one.bytes = std::make_shared<const std::vector<std::byte>>(values_of<std::byte>(nb::cast<nb::bytes>(content)));
    } else {
      one.table = std::make_shared<const Table>(table_of(nb::cast<nb::list>(content)));
    }
    run->files.push_back(std::move(one));
  }
  return {std::move(run)};
}

}  // namespace

void bind_states(nb::module_& m) {
  m.def(
      "state_of_run",
      [](const HeldRun& held) {
        auto [command, files] = state_of(held);
        return nb::make_tuple(nb::cast(command), nb::cast(files));
      },
      "run"_a, nb::sig("def state_of_run(run: Run) -> tuple[typing.Any, typing.Any]"),
      "The files in memory as plain objects.");
  m.def(
      "run_of_state",
      [](const CommandState& command, const std::vector<FileState>& files) { return run_of(command, files); },
      "command"_a, "files"_a, nb::sig("def run_of_state(command: typing.Any, files: typing.Any) -> Run"),
      "The files whose state this is.");
  m.def(
      "state_of_table", [](const HeldTable& held) { return state_of(*held.table); }, "table"_a,
      nb::sig("def state_of_table(table: Table) -> list[typing.Any]"), "The columns of a table as plain objects.");
  m.def(
      "table_of_state", [](const nb::list& state) { return HeldTable{std::make_shared<const Table>(table_of(state))}; },
      "state"_a, nb::sig("def table_of_state(state: list[typing.Any]) -> Table"), "The table whose state this is.");
}

}  // namespace headscope::python
