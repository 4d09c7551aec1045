# What an installed mortise consists of: the library, its headers, the operators' tools, and how CMake and pkg-config find them.
include(CMakePackageConfigHelpers)

install(TARGETS mortise EXPORT mortise-targets FILE_SET HEADERS)
if(MORTISE_BUILD_TOOLS)
  if(BUILD_SHARED_LIBS)
    file(RELATIVE_PATH MORTISE_BIN_TO_LIB ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(inspect-locks with-lock PROPERTIES INSTALL_RPATH "$ORIGIN/${MORTISE_BIN_TO_LIB}")
  endif()
  install(TARGETS inspect-locks with-lock)
  set(MORTISE_COMPLETIONS ${PROJECT_SOURCE_DIR}/tools/completions)
  foreach(tool inspect-locks with-lock)
    install(FILES ${MORTISE_COMPLETIONS}/${tool}.bash RENAME ${tool}
      DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${MORTISE_COMPLETIONS}/_${tool} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${MORTISE_COMPLETIONS}/${tool}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
    install(FILES ${PROJECT_SOURCE_DIR}/docs/man/${tool}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endforeach()
  install(FILES ${PROJECT_SOURCE_DIR}/docs/inspect-locks.schema.json DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
install(FILES ${PROJECT_SOURCE_DIR}/docs/man/mortise.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(MORTISE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/mortise)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/mortise-config.cmake.in mortise-config.cmake
  INSTALL_DESTINATION ${MORTISE_PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(mortise-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mortise-config.cmake ${PROJECT_BINARY_DIR}/mortise-config-version.cmake
  DESTINATION ${MORTISE_PACKAGE_DIR})
install(EXPORT mortise-targets NAMESPACE mortise:: DESTINATION ${MORTISE_PACKAGE_DIR})

# Each store is a component with an export and a .pc file of its own: who asks for it needs its libraries.
get_property(MORTISE_STORES GLOBAL PROPERTY MORTISE_STORES)
foreach(store IN LISTS MORTISE_STORES)
  install(TARGETS mortise_${store} EXPORT mortise-${store}-targets FILE_SET HEADERS)
  install(EXPORT mortise-${store}-targets NAMESPACE mortise:: DESTINATION ${MORTISE_PACKAGE_DIR})
endforeach()

# The .pc file finds its prefix from where it lies, so that an installed tree can be moved.
set(MORTISE_PC_DIR ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${MORTISE_PC_DIR} OUTPUT_VARIABLE MORTISE_PC_TO_PREFIX)
configure_file(${PROJECT_SOURCE_DIR}/cmake/mortise.pc.in mortise.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mortise.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(store IN LISTS MORTISE_STORES)
  if(BUILD_SHARED_LIBS) # needed, even where the linker is told to drop libraries of which nothing is named
    set(store_libs "-Wl,--push-state,--no-as-needed -lmortise_${store} -Wl,--pop-state")
  else() # a static library brings nothing along; -lmortise is used by what stands before it
    get_target_property(store_libs mortise_${store} MORTISE_INSTALLED_LIBRARIES)
    list(TRANSFORM store_libs PREPEND -l)
    list(JOIN store_libs " " store_libs)
    set(store_libs "-Wl,--undefined=mortise_${store}_store -lmortise_${store} -lmortise ${store_libs}")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/mortise-store.pc.in mortise-${store}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/mortise-${store}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
