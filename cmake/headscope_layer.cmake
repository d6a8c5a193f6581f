# headscope_layer(NAME [LAYERS other...] [PRIVATE library...])
#
# One static library per layer, from src/NAME/*.cpp (and *.cu) and the public headers in
# include/headscope/NAME. LAYERS are the layers it may include.
function(headscope_layer name)
  cmake_parse_arguments(ARG "" "" "LAYERS;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cpp"
                                                   "${PROJECT_SOURCE_DIR}/src/${name}/*.cu")
  list(FILTER sources EXCLUDE REGEX "with(out)?_cuda\\.cpp$")  # chosen by the caller
  add_library(headscope_${name} STATIC ${sources})
  add_library(headscope::${name} ALIAS headscope_${name})
  set_target_properties(headscope_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(headscope_${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                                      "$<INSTALL_INTERFACE:include>"
                                               PRIVATE "${PROJECT_SOURCE_DIR}/src")
  list(TRANSFORM ARG_LAYERS PREPEND headscope_)
  target_link_libraries(headscope_${name} PUBLIC ${ARG_LAYERS} PRIVATE $<BUILD_INTERFACE:headscope_compile>
                                                                 ${ARG_PRIVATE})
  if("${HEADSCOPE_SANITIZE}" MATCHES "undefined")  # null pointers are found by AddressSanitizer
    target_compile_options(headscope_${name} PRIVATE -fsanitize=undefined -fno-sanitize=null,vptr,object-size)
  endif()
  if(HEADSCOPE_SANITIZE)  # slower after a change of one file, faster from nothing
    headscope_compile_together(headscope_${name} 6 ${sources})
  endif()
  # Parsing these takes longer than compiling most files: it is done once, for all layers. The dev preset does without,
  # so that no file relies on what it does not include.
  if(name STREQUAL "base")
    target_precompile_headers(headscope_base PRIVATE <algorithm> <array> <cmath> <filesystem> <fmt/format.h> <functional>
                              <map> <memory> <optional> <span> <string> <string_view> <vector>)
  else()
    # It was compiled with the definitions of Highway, so they must be known to whoever uses it.
    target_compile_definitions(headscope_${name} PRIVATE $<TARGET_PROPERTY:hwy::hwy,INTERFACE_COMPILE_DEFINITIONS>)
    target_precompile_headers(headscope_${name} REUSE_FROM headscope_base)
  endif()
  set_property(GLOBAL APPEND PROPERTY HEADSCOPE_LAYERS ${name})
endfunction()
