#pragma once

#include <nanobind/nanobind.h>

namespace headscope::python {

// One function per file: adds its classes and functions to the module.
void bind_errors(nanobind::module_& m);
void bind_model(nanobind::module_& m);
void bind_request(nanobind::module_& m);
void bind_results(nanobind::module_& m);
void bind_states(nanobind::module_& m);

}  // namespace headscope::python
