# Packages, made from the libraries of the build tree HEADSCOPE_BUILT: the wheel (python/) or the tarball ('make dist').
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include("${HEADSCOPE_BUILT}/headscope_targets.cmake")
add_library(headscope_cli ALIAS headscope::headscope_cli)
add_library(headscope_compile ALIAS headscope::headscope_compile)

# The libraries of that tree call the system's OpenBLAS. If the package's has other symbol names, this object file
# replaces the one file that calls it: the linker finds its functions before it looks into libheadscope_linalg.a.
add_library(headscope_lapack OBJECT "${PROJECT_SOURCE_DIR}/src/linalg/lapack.cpp")
target_include_directories(headscope_lapack PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(headscope_lapack PRIVATE headscope_compile headscope::openblas fmt::fmt)

add_executable(headscope "${PROJECT_SOURCE_DIR}/cli/main.cpp")
target_link_libraries(headscope PRIVATE headscope_lapack headscope_cli headscope_compile)

if(HEADSCOPE_PYTHON)
  add_subdirectory(python)
else()
  include(headscope_dist)
endif()
