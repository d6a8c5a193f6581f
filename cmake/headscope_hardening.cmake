# headscope_harden(TARGET) : adds the flags that turn memory errors into an exit to the interface of TARGET. Everything that
# is compiled and linked with TARGET has them: the program, the wheel's module and the tarball, which take headscope_compile
# from the build tree.
#
#   -fstack-protector-strong   a value before the return address, checked when a function with an array returns
#   _FORTIFY_SOURCE            memcpy, read and others check the size of their destination; level 3 also checks sizes that
#                              are known only at run time, and needs gcc 12 or clang 9 with glibc 2.34
#   -pie                       the program lies at a random address
#   relro, now                 the table of functions in shared libraries is filled at the start and is read-only afterwards
#   noexecstack                the stack is never executable
#
# Cost on a random GPT-2 small, user time on 2 noisy processors, alternating runs: relate with all pairs takes 21.92 s without
# and 22.21 s with these flags (minimum of 14: +1.3 %; median 22.92 and 22.99 s: +0.3 %), capture of 4 x 256 tokens 2.77 and
# 2.79 s (minimum of 7: +0.7 %). Runs of the same program differ by 7 and 17 %, so the cost is not resolved.
# Sanitizers check more, and AddressSanitizer misses errors in functions that _FORTIFY_SOURCE replaces: their builds have
# none of these flags. _FORTIFY_SOURCE needs an optimizing build.
include(CheckCXXSourceCompiles)

function(headscope_harden target)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    return()
  endif()
  target_compile_options(${target} INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong>)
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()  # the other systems' linkers do the rest unasked, or have no such flags
  endif()
  # glibc warns if compiler or C library lack level 3.
  set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_cxx_source_compiles("#include <cstring>\n#if __USE_FORTIFY_LEVEL != 3\n#error\n#endif\nint main() {}"
                            HEADSCOPE_FORTIFY_3)
  # Some distributions define a level of their own, hence the -U.
  set(optimized $<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>)
  target_compile_options(${target} INTERFACE
                         "$<${optimized}:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=$<IF:$<BOOL:${HEADSCOPE_FORTIFY_3}>,3,2>>")
  target_link_options(${target} INTERFACE LINKER:-z,relro,-z,now,-z,noexecstack
                      $<$<AND:$<LINK_LANGUAGE:CXX>,$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>>:-pie>)
endfunction()
