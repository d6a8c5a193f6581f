# headscope_register_families()
#
# Every src/model/families/NAME.cpp defines `Family families::NAME()`. This writes
# the list of them, so that a new family is one new file.
#
# A dozen of these small files are compiled together: with sanitizers, one alone takes 5 s and a dozen 14 s. The dev preset
# compiles each alone, as it does without precompiled headers.
function(headscope_register_families)
  file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/model/families/*.cpp")
  set(declarations "")
  set(calls "")
  foreach(file ${files})
    cmake_path(GET file STEM name)
    string(APPEND declarations "Family ${name}();\n")
    string(APPEND calls "      ${name}(),\n")
  endforeach()
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    set_target_properties(headscope_model PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    set(index 0)
    foreach(file ${files})
      math(EXPR group "${index} / 12")
      set_source_files_properties("${file}" PROPERTIES UNITY_GROUP "families_${group}")
      math(EXPR index "${index} + 1")
    endforeach()
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/families.cpp.in" "${PROJECT_BINARY_DIR}/families.cpp" @ONLY)
  target_sources(headscope_model PRIVATE "${PROJECT_BINARY_DIR}/families.cpp")
endfunction()
