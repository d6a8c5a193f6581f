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
  # Precompiled headers are cached only if these are allowed to differ.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${HEADSCOPE_CCACHE}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()

add_library(headscope_compile INTERFACE)
# These misfire on std::string, std::vector and std::optional: in gcc 12 (bugs 105329, 80635), -Wstringop-overread in gcc 14.
target_compile_options(headscope_compile INTERFACE
                       $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-psabi>
                       $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  # A switch over an enumeration without a default case must have all its cases, in every build: a forgotten metric or
  # role would otherwise be found by a user.
  target_compile_options(headscope_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror=switch>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(headscope_compile INTERFACE
                         $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-stringop-overread
                         -Wno-array-bounds>)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # The page of the report is one literal of 670 kB, which both compilers take.
  target_compile_options(headscope_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-overlength-strings>)
endif()
if(HEADSCOPE_WERROR)
  target_compile_options(headscope_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>
                                                     $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
if(HEADSCOPE_SANITIZE)
  string(REPLACE "," ";" everywhere "${HEADSCOPE_SANITIZE}")
  # Checks for undefined behavior double the time a file takes to compile: only the layers have them
  # (headscope_layer.cmake), where numbers from strangers are computed with, not the tests or the command line.
  list(REMOVE_ITEM everywhere undefined)
  foreach(sanitizer IN LISTS everywhere)
    target_compile_options(headscope_compile INTERFACE -fsanitize=${sanitizer})
  endforeach()
  target_compile_options(headscope_compile INTERFACE -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(headscope_compile INTERFACE -fsanitize=${HEADSCOPE_SANITIZE})
endif()
if(HEADSCOPE_FUZZ)
  target_compile_options(headscope_compile INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(HEADSCOPE_HARDENING AND NOT HEADSCOPE_SANITIZE AND NOT HEADSCOPE_FUZZ)
  include(headscope_hardening)
  headscope_harden(headscope_compile)
endif()
