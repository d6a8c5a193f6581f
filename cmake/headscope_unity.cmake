# headscope_compile_together(TARGET COUNT file...)
#
# Compiles COUNT files at a time, which takes half as long or less: headers are parsed and templates instantiated once.
# Names in unnamed namespaces must differ within a folder. Files that Highway compiles once per processor stay alone. The
# dev preset compiles every file alone, as it does without precompiled headers, so that none relies on another's headers.
function(headscope_compile_together target count)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set(index 0)
  foreach(file ${ARGN})
    file(STRINGS "${file}" highway REGEX "HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
    if(highway)
      continue()
    endif()
    math(EXPR group "${index} / ${count}")
    set_source_files_properties("${file}" PROPERTIES UNITY_GROUP "of_${count}_${group}")
    math(EXPR index "${index} + 1")
  endforeach()
endfunction()
