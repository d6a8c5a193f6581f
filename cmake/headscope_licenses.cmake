# The target 'licenses' writes ${HEADSCOPE_LICENSES}, the licenses of everything that a package contains.
set(HEADSCOPE_LICENSES "${PROJECT_BINARY_DIR}/THIRD_PARTY_LICENSES.txt")
add_custom_command(OUTPUT "${HEADSCOPE_LICENSES}"
                   COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/collect_licenses.py"
                           $<$<BOOL:${HEADSCOPE_PYTHON}>:--python-module> "${HEADSCOPE_LICENSES}"
                   DEPENDS "${PROJECT_SOURCE_DIR}/tools/collect_licenses.py" "${PROJECT_SOURCE_DIR}/web/dist/licenses.txt"
                   VERBATIM COMMAND_EXPAND_LISTS)
add_custom_target(licenses DEPENDS "${HEADSCOPE_LICENSES}")
