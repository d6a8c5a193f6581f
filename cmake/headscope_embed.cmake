# headscope_embed(TARGET FILE SYMBOL)
#
# Makes the text of FILE available to TARGET as `extern const std::string_view headscope::SYMBOL`.
function(headscope_embed target file symbol)
  file(READ "${PROJECT_SOURCE_DIR}/${file}" text)
  set(source "${PROJECT_BINARY_DIR}/${symbol}.cpp")
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT
       "#include <string_view>\n\nnamespace headscope {\nextern const std::string_view @symbol@;\nconst std::string_view @symbol@ = R\"embedded(@text@)embedded\";\n}\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${file}")
  target_sources(${target} PRIVATE "${source}")
endfunction()
