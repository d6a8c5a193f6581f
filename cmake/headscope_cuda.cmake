# The CUDA compiler and cuBLAS, as target headscope_cublas. Sources are compiled for Ampere and Hopper, and as PTX for
# what comes after.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "nvcc is ${CMAKE_CUDA_COMPILER_VERSION}, expected 12 or later")
endif()
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)

# Not by find_package(CUDAToolkit): that of CMake 3.25, Debian's, fails with CUDA 13.
get_filename_component(toolkit "${CMAKE_CUDA_COMPILER}" DIRECTORY)
get_filename_component(toolkit "${toolkit}" DIRECTORY)
find_path(CUBLAS_INCLUDE_DIR cublas_v2.h HINTS ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES} "${toolkit}/include" REQUIRED)
find_library(CUBLAS_LIBRARY cublas HINTS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES} "${toolkit}/lib64" "${toolkit}/lib" REQUIRED)
add_library(headscope_cublas INTERFACE)
target_include_directories(headscope_cublas SYSTEM INTERFACE "${CUBLAS_INCLUDE_DIR}"
                                                             ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
target_link_libraries(headscope_cublas INTERFACE "${CUBLAS_LIBRARY}")
