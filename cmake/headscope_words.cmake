# headscope_install_words(COMPONENT): installs the manual page and the completions of bash, zsh and fish, where these look for
# them. The program writes them, from the descriptions of its options, when it is installed.
function(headscope_install_words component)
  foreach(file "share/man/man1/headscope.1=manual" "share/bash-completion/completions/headscope=completion bash"
               "share/zsh/site-functions/_headscope=completion zsh"
               "share/fish/vendor_completions.d/headscope.fish=completion fish")
    string(REGEX REPLACE "=.*" "" path "${file}")
    string(REGEX REPLACE ".*=" "" words "${file}")
    string(REPLACE " " ";" words "${words}")
    install(CODE "
      set(path \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${path}\")
      message(STATUS \"Installing: \${path}\")
      cmake_path(GET path PARENT_PATH folder)
      file(MAKE_DIRECTORY \"\${folder}\")
      execute_process(COMMAND \"$<TARGET_FILE:headscope>\" ${words} OUTPUT_FILE \"\${path}\" COMMAND_ERROR_IS_FATAL ANY)"
            COMPONENT ${component})
  endforeach()
endfunction()
