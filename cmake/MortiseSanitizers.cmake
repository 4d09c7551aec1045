# MORTISE_SANITIZE=address,undefined or thread instruments every target of the build; so does fuzzer-no-link, for Clang.
set(MORTISE_SANITIZE "" CACHE STRING "Sanitizers to build with, as for -fsanitize=")
if(MORTISE_SANITIZE)
  add_compile_options(-fsanitize=${MORTISE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${MORTISE_SANITIZE})
  # GCC 12 finds it in libstdc++'s own code once that is instrumented
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)

  # The sanitizers of GCC 12 die at start-up when the kernel randomises more address bits than they know of
  # (vm.mmap_rnd_bits above 28), so the tests run without that where it is allowed.
  execute_process(COMMAND setarch -R true RESULT_VARIABLE MORTISE_SETARCH_FAILED OUTPUT_QUIET ERROR_QUIET)
  if(NOT MORTISE_SETARCH_FAILED)
    set(CMAKE_CROSSCOMPILING_EMULATOR setarch -R)
  endif()
endif()
