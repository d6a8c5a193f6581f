#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace headscope::python {

namespace nb = nanobind;

/// Any array that lies in this machine's memory in C order; others are copied into one that does.
using ArrayIn = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
/// An array of ours that Python must not write to.
using ArrayOut = nb::ndarray<nb::numpy, nb::ro>;

/// Python's handle on something of ours: it lives until the last array on it is gone.
template <typename T>
nb::capsule owner_of(std::shared_ptr<const T> owned) {
  auto* handle = new std::shared_ptr<const T>(std::move(owned));
  return {handle, [](void* p) noexcept { delete static_cast<std::shared_ptr<const T>*>(p); }};
}

}  // namespace headscope::python
