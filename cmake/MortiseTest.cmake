# mortise_add_test(NAME sources... [LIBRARIES ...] [LABELS ...] [TIMEOUT seconds])
#   Builds a GoogleTest program (gmock, main and mortise::mortise are linked) whose cases become CTest tests "NAME.Suite.Case".
#   White-box tests add LIBRARIES mortise_internals to include src/. LABELS threads: also runs under TSan. TIMEOUT is per case.
# Tests made with add_test() begin their name with ${MORTISE_TEST_PREFIX}, which tells the sanitizer builds apart.
include(GoogleTest)

find_package(GTest 1.12 REQUIRED)
find_package(Boost 1.74 REQUIRED)

if(MORTISE_SANITIZE MATCHES "thread")
  set(MORTISE_TEST_PREFIX tsan.)
elseif(MORTISE_SANITIZE)
  set(MORTISE_TEST_PREFIX asan.)
endif()

add_library(mortise_internals INTERFACE)
target_include_directories(mortise_internals INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(mortise_internals INTERFACE mortise::mortise Boost::headers)

# Parsed once for all test programs: their headers are most of the time that they take to compile.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cpp "")
add_library(mortise_test_headers OBJECT ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cpp)
target_link_libraries(mortise_test_headers PRIVATE mortise::mortise mortise_warnings GTest::gmock)
set_target_properties(mortise_test_headers PROPERTIES CXX_EXTENSIONS OFF)
target_precompile_headers(mortise_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <mortise/mortise.hpp> <thread> <vector>)

# The program of a test. It is left out of a build under TSan unless it has the label for that.
function(mortise_add_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES;LABELS")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE mortise::mortise mortise_warnings ${arg_LIBRARIES} GTest::gmock_main)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_precompile_headers(${name} REUSE_FROM mortise_test_headers)
  if(MORTISE_SANITIZE MATCHES "thread" AND NOT "threads" IN_LIST arg_LABELS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

function(mortise_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LIBRARIES;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()

  mortise_add_test_program(${name} ${arg_UNPARSED_ARGUMENTS} LIBRARIES ${arg_LIBRARIES} LABELS ${arg_LABELS})
  get_target_property(is_left_out ${name} EXCLUDE_FROM_ALL)
  if(is_left_out)
    return()
  endif()

  # The cases are listed when CTest runs, not when the program is linked: a build must not depend on whether it can run.
  gtest_discover_tests(${name}
    TEST_PREFIX ${MORTISE_TEST_PREFIX}${name}.
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${arg_TIMEOUT})
  # gtest_discover_tests keeps only the first of several labels.
  set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
  file(WRITE ${labels_file} "if(${name}_TESTS)\n"
                            "  set_tests_properties(\${${name}_TESTS} PROPERTIES LABELS \"${arg_LABELS}\")\n"
                            "endif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})
endfunction()

# The same, but the program is one CTest test "NAME": what it starts for its cases, such as a server, is started once. TIMEOUT is
# for all of them. With SHARDS n there are as many tests "NAME.1" and so on, which share the cases, and can run side by side. They
# count as skipped when the program says that what it needs "is not installed".
function(mortise_add_server_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;SHARDS" "LIBRARIES;LABELS")
  mortise_add_test_program(${name} ${arg_UNPARSED_ARGUMENTS} LIBRARIES ${arg_LIBRARIES} LABELS ${arg_LABELS})
  get_target_property(is_left_out ${name} EXCLUDE_FROM_ALL)
  if(is_left_out)
    return()
  endif()
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${arg_SHARDS})
    set(test ${MORTISE_TEST_PREFIX}${name})
    if(arg_SHARDS GREATER 1)
      string(APPEND test .${shard})
    endif()
    math(EXPR index "${shard} - 1")
    add_test(NAME ${test} COMMAND ${name})
    set_tests_properties(${test} PROPERTIES
      TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" SKIP_REGULAR_EXPRESSION "is not installed"
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
