#include <exception>
#include <string>

#include "bindings.h"
#include "headscope/base/error.h"
#include "parameter_names.h"

namespace nb = nanobind;

namespace headscope::python {
namespace {

const char* class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
      return "ArgumentError";
    case ErrorKind::kIo:
      return "FileError";
    case ErrorKind::kFormat:
      return "FormatError";
    case ErrorKind::kUnsupported:
      return "UnsupportedError";
    case ErrorKind::kNumeric:
      return "NumericError";
    case ErrorKind::kBackend:
      return "BackendError";
    case ErrorKind::kResource:
      return "ResourceError";
  }
  return "Error";
}

void translate(const std::exception_ptr& raised, void*) {
  try {
    std::rethrow_exception(raised);
  } catch (const Error& error) {
    constexpr std::size_t kMaxLength = 2000;  // as the program prints it
    const nb::object type = nb::module_::import_("headscope._errors").attr(class_of(error.kind()));
    PyErr_SetString(type.ptr(), printable(with_parameter_names(error.what()), kMaxLength).c_str());
  }
}

}  // namespace

void bind_errors(nb::module_&) {
  nb::register_exception_translator(translate);  // also names Python's parameters instead of flags
}

}  // namespace headscope::python
