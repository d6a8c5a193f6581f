# The libraries that headscope is made from. The installed package includes this file too, with HEADSCOPE_LIBRARY_ONLY.
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
if(NOT HEADSCOPE_LIBRARY_ONLY)
  find_package(CLI11 2.1 REQUIRED)
endif()
find_package(ZLIB REQUIRED)
find_package(PNG 1.6 REQUIRED)
find_package(JPEG REQUIRED)
find_package(Threads REQUIRED)
find_package(hwy REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)

# headscope::openblas. 'system' is what pkg-config finds. 'scipy' is the library inside the Python package
# scipy-openblas32: it knows newer processors than Debian 12's, needs nothing but the C library, and prefixes its symbols, so
# that another BLAS in the same process (NumPy's, PyTorch's) is never called by mistake. Packages contain that one.
add_library(headscope::openblas INTERFACE IMPORTED GLOBAL)
if(HEADSCOPE_OPENBLAS STREQUAL "system")
  pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
  target_link_libraries(headscope::openblas INTERFACE PkgConfig::OPENBLAS)
elseif(HEADSCOPE_OPENBLAS STREQUAL "scipy")
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
  # Not imported: that would load the library.
  execute_process(COMMAND "${Python_EXECUTABLE}" -c
                          "import importlib.util as u; print(u.find_spec('scipy_openblas32').submodule_search_locations[0])"
                  OUTPUT_VARIABLE HEADSCOPE_SCIPY_OPENBLAS OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT HEADSCOPE_SCIPY_OPENBLAS)
    message(FATAL_ERROR "HEADSCOPE_OPENBLAS=scipy: ${Python_EXECUTABLE} has no package scipy-openblas32; install it with pip")
  endif()
  set(HEADSCOPE_OPENBLAS_LIBRARY
      "${HEADSCOPE_SCIPY_OPENBLAS}/lib/libscipy_openblas${CMAKE_SHARED_LIBRARY_SUFFIX}")
  target_include_directories(headscope::openblas INTERFACE "${HEADSCOPE_SCIPY_OPENBLAS}/include")
  target_compile_definitions(headscope::openblas INTERFACE BLAS_SYMBOL_PREFIX=scipy_)
  target_link_libraries(headscope::openblas INTERFACE "${HEADSCOPE_OPENBLAS_LIBRARY}")
else()
  message(FATAL_ERROR "HEADSCOPE_OPENBLAS is '${HEADSCOPE_OPENBLAS}', expected system or scipy")
endif()
