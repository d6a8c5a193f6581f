# 'cmake --install BUILD --component library' installs the C++ library: find_package(headscope) gives headscope::headscope.
# 'cmake --install BUILD --component program' installs the program with its manual page, completions and bundled models.
#
# Installed are the headers that headscope/headscope.h includes, directly or not; all others are private.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# headscope_public_headers(OUTPUT) : the paths below include/ of the headers that are reached from the umbrella header.
function(headscope_public_headers output)
  set(open headscope/headscope.h)
  set(found "")
  while(open)
    list(POP_FRONT open header)
    list(APPEND found "${header}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/${header}")
    file(STRINGS "${PROJECT_SOURCE_DIR}/include/${header}" lines REGEX "^#include \"headscope/")
    foreach(line ${lines})
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
      if(NOT included IN_LIST found AND NOT included IN_LIST open)
        list(APPEND open "${included}")
      endif()
    endforeach()
  endwhile()
  set(${output} "${found}" PARENT_SCOPE)
endfunction()

# What a user links.
add_library(headscope_library INTERFACE)
add_library(headscope::headscope ALIAS headscope_library)
set_target_properties(headscope_library PROPERTIES EXPORT_NAME headscope)
target_link_libraries(headscope_library INTERFACE headscope_app)
target_compile_features(headscope_library INTERFACE cxx_std_20)

headscope_public_headers(headers)
foreach(header ${headers})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES "${PROJECT_SOURCE_DIR}/include/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/${folder}"
          COMPONENT library)
endforeach()

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/headscope")
get_property(layers GLOBAL PROPERTY HEADSCOPE_LAYERS)
list(REMOVE_ITEM layers mpi)  # ranks are the program's business
list(TRANSFORM layers PREPEND headscope_)
if(HEADSCOPE_CUDA)
  list(APPEND layers headscope_cublas)
endif()
install(TARGETS headscope_library ${layers} EXPORT headscope ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        COMPONENT library)
install(EXPORT headscope NAMESPACE headscope:: DESTINATION "${package}" FILE headscopeTargets.cmake COMPONENT library)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/headscopeConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/headscopeConfig.cmake" INSTALL_DESTINATION "${package}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/headscopeConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/headscopeConfig.cmake" "${PROJECT_BINARY_DIR}/headscopeConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/headscope_dependencies.cmake"
        DESTINATION "${package}" COMPONENT library)

# The program, with what it says of itself.
function(headscope_install_program)
  include(headscope_words)
  install(TARGETS headscope RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/models" DESTINATION share/headscope COMPONENT program PATTERN "*.py" EXCLUDE
          PATTERN __pycache__ EXCLUDE)
  headscope_install_words(program)
endfunction()
