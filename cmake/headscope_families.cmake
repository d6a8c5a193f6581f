# headscope_register_families()
#
# Every src/model/families/NAME.cpp defines `Family families::NAME()`. This writes
# the list of them, so that a new family is one new file.
#
# A dozen of these small files are compiled together: with sanitizers, one alone takes 5 s and a dozen 14 s.
function(headscope_register_families)
  file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/model/families/*.cpp")
  set(declarations "")
  set(calls "")
  foreach(file ${files})
    cmake_path(GET file STEM name)
    string(APPEND declarations "Family ${name}();\n")
    string(APPEND calls "      ${name}(),\n")
  endforeach()
  headscope_compile_together(headscope_model 12 ${files})
  configure_file("${PROJECT_SOURCE_DIR}/cmake/families.cpp.in" "${PROJECT_BINARY_DIR}/families.cpp" @ONLY)
  target_sources(headscope_model PRIVATE "${PROJECT_BINARY_DIR}/families.cpp")
endfunction()
