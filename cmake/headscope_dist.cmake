# The tarball of 'make dist': a folder that can lie anywhere. What the program needs besides the C library lies in lib/.
if(NOT HEADSCOPE_OPENBLAS STREQUAL "scipy")
  message(FATAL_ERROR "the tarball needs HEADSCOPE_OPENBLAS=scipy: OpenBLAS of the system brings libraries of its own")
endif()

include(headscope_licenses)
set_target_properties(headscope PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
# DT_RPATH, not DT_RUNPATH: it also holds for what the libraries in lib/ need.
target_link_options(headscope PRIVATE -Wl,--disable-new-dtags)
install(TARGETS headscope RUNTIME_DEPENDENCY_SET needed RUNTIME DESTINATION bin COMPONENT dist)
install(RUNTIME_DEPENDENCY_SET needed PRE_EXCLUDE_REGEXES "^(ld-linux.*|lib(c|m|dl|rt|pthread))\\.so\\.[0-9]+$"
        DIRECTORIES "${HEADSCOPE_SCIPY_OPENBLAS}/lib" LIBRARY DESTINATION lib COMPONENT dist)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/models" DESTINATION share/headscope COMPONENT dist PATTERN "*.py" EXCLUDE
        PATTERN __pycache__ EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${PROJECT_SOURCE_DIR}/LICENSE"
              "${PROJECT_SOURCE_DIR}/SECURITY.md" "${HEADSCOPE_LICENSES}"
        DESTINATION . COMPONENT dist)
include(headscope_words)
headscope_install_words(dist)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" "${PROJECT_SOURCE_DIR}/data" DESTINATION share/headscope COMPONENT dist)
