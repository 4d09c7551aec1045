# mortise_add_store(NAME SOURCES ... [LIBRARIES ...] [INSTALLED_LIBRARIES ...]): the component mortise::NAME with the header
# NAME_lock_store.hpp, a store whose schemes a static variable registers. A program that links it shall have them although it
# names nothing of it: so each such library defines the symbol mortise_NAME_store, beside that variable, and the linker is told
# to look for it. LIBRARIES is what it needs here; INSTALLED_LIBRARIES, as for -l, is what it needs where it is installed.

# All stores that are built: for programs that can open any of them.
add_library(mortise_stores INTERFACE)
target_link_libraries(mortise_stores INTERFACE mortise)

function(mortise_add_store name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES;INSTALLED_LIBRARIES")
  set(target mortise_${name})
  add_library(${target} ${arg_SOURCES})
  add_library(mortise::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include
                                  FILES ${PROJECT_SOURCE_DIR}/include/mortise/${name}_lock_store.hpp)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC mortise PRIVATE "$<BUILD_INTERFACE:${arg_LIBRARIES}>"
                                  "$<INSTALL_INTERFACE:${arg_INSTALLED_LIBRARIES}>" $<BUILD_INTERFACE:mortise_warnings>)
  target_link_options(${target} INTERFACE "LINKER:--undefined=mortise_${name}_store")
  if(BUILD_SHARED_LIBS) # that does not make a shared library needed, where the linker is told to drop those that are not
    target_link_options(${target} INTERFACE
      "LINKER:--push-state,--no-as-needed,$<TARGET_FILE:mortise::${name}>,--pop-state")
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                             VERIFY_INTERFACE_HEADER_SETS ON CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
                                             INSTALL_RPATH $ORIGIN MORTISE_INSTALLED_LIBRARIES "${arg_INSTALLED_LIBRARIES}")
  target_link_libraries(mortise_stores INTERFACE ${target})
  set_property(GLOBAL APPEND PROPERTY MORTISE_STORES ${name})
endfunction()
