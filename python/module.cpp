#include <nanobind/nanobind.h>

#include <string>

#include "bindings.h"
#include "headscope/app/command.h"
#include "headscope/base/parallel.h"
#include "headscope/linalg/kernels.h"

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_native, m) {
  m.doc() = "The native part of headscope: requests of the application layer and their results.";
  m.attr("version") = std::string(headscope::version()).c_str();
  m.def("set_threads", &headscope::set_thread_count, "threads"_a, "Number of threads; 0 for all processors.");
  m.def("threads", &headscope::thread_count, "Number of threads that are used.");
  m.attr("better_kernels") = headscope::better_kernels().c_str();
  headscope::python::bind_errors(m);
  headscope::python::bind_model(m);
  headscope::python::bind_results(m);
  headscope::python::bind_states(m);
  headscope::python::bind_request(m);
}
