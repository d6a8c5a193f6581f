#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace headscope::python {

namespace nb = nanobind;

/// Any array in this machine's memory, in C order; others are copied.
using ArrayIn = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using FloatsIn = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using IntegersIn = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;
using LevelsIn = nb::ndarray<const std::uint8_t, nb::c_contig, nb::device::cpu>;
/// A read-only array for Python.
using ArrayOut = nb::ndarray<nb::numpy, nb::ro>;

/// Returns a handle that keeps an object alive until the last array on it is gone.
template <typename T>
nb::capsule owner_of(std::shared_ptr<const T> owned) {
  auto* handle = new std::shared_ptr<const T>(std::move(owned));
  return {handle, [](void* p) noexcept { delete static_cast<std::shared_ptr<const T>*>(p); }};
}

}  // namespace headscope::python
