# headscope_layer(NAME [LAYERS other...] [PRIVATE library...])
#
# One static library per layer, from src/NAME/*.cpp and the public headers in
# include/headscope/NAME. LAYERS are the layers it may include.
function(headscope_layer name)
  cmake_parse_arguments(ARG "" "" "LAYERS;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cpp")
  add_library(headscope_${name} STATIC ${sources})
  add_library(headscope::${name} ALIAS headscope_${name})
  target_include_directories(headscope_${name} PUBLIC "${PROJECT_SOURCE_DIR}/include"
                                               PRIVATE "${PROJECT_SOURCE_DIR}/src")
  list(TRANSFORM ARG_LAYERS PREPEND headscope_)
  target_link_libraries(headscope_${name} PUBLIC ${ARG_LAYERS} PRIVATE headscope_compile ${ARG_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY HEADSCOPE_LAYERS ${name})
endfunction()
