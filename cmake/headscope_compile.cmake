# How every target of the project is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(HEADSCOPE_CCACHE ccache)
if(HEADSCOPE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${HEADSCOPE_CCACHE}")
endif()

add_library(headscope_compile INTERFACE)
target_compile_options(headscope_compile INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                   -Wno-psabi)
if(HEADSCOPE_WERROR)
  target_compile_options(headscope_compile INTERFACE -Werror)
endif()
if(HEADSCOPE_SANITIZE)
  target_compile_options(headscope_compile INTERFACE -fsanitize=${HEADSCOPE_SANITIZE}
                                                     -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(headscope_compile INTERFACE -fsanitize=${HEADSCOPE_SANITIZE})
endif()
if(HEADSCOPE_FUZZ)
  target_compile_options(headscope_compile INTERFACE -fsanitize=fuzzer-no-link)
endif()
