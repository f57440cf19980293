# What `cmake --install` puts where.
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ndr)

# Two export files, because only the static library needs threads.
install(TARGETS ndr EXPORT ndr-targets)
install(TARGETS ndr_static EXPORT ndr-static-targets)
install(EXPORT ndr-targets NAMESPACE ndr:: DESTINATION ${config_dir})
install(EXPORT ndr-static-targets NAMESPACE ndr:: DESTINATION ${config_dir})

set(ndr_kernels_dir ${CMAKE_INSTALL_DATADIR}/ndr/kernels)
configure_package_config_file(cmake/ndr-config.cmake.in ${PROJECT_BINARY_DIR}/ndr-config.cmake
  INSTALL_DESTINATION ${config_dir}
  PATH_VARS ndr_kernels_dir)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ndr-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/ndr-config.cmake ${PROJECT_BINARY_DIR}/ndr-config-version.cmake cmake/ndr_embed.cmake
  cmake/ndr_add_kernels.cmake
  DESTINATION ${config_dir})

# The .pc files compute their prefix from their own place, so that an installed tree may be moved. ndr-static names the
# file libndr.a: if both libraries are installed, -lndr selects the shared one, also with pkg-config --static. Each has a
# second name, libndr and libndr-static.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH pc_up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" pc_up ${pc_up})
  set(pc_prefix "\${pcfiledir}/${pc_up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
list(TRANSFORM CMAKE_DL_LIBS PREPEND "-l" OUTPUT_VARIABLE pc_dl)
foreach(pc_name ndr libndr)
  foreach(variant "" -static)
    configure_file(cmake/ndr${variant}.pc.in ${PROJECT_BINARY_DIR}/${pc_name}${variant}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${pc_name}${variant}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endforeach()
endforeach()

install(DIRECTORY include/ndr DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY kernels/ DESTINATION ${ndr_kernels_dir}
  FILES_MATCHING PATTERN "*.cl" PATTERN "*.clh" PATTERN "*.inc" PATTERN "*.h")

# The headers that pages link are installed in another folder.
file(RELATIVE_PATH headers ${CMAKE_INSTALL_FULL_DOCDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
foreach(page README.md docs/reference.md)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
  file(READ ${page} text)
  string(REPLACE "](include/" "](${headers}/" text "${text}")
  string(REPLACE "](../include/" "](../${headers}/" text "${text}")
  file(WRITE ${PROJECT_BINARY_DIR}/installed/${page} "${text}")
endforeach()
install(FILES CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png"
  PATTERN "site" EXCLUDE PATTERN "man" EXCLUDE)
install(DIRECTORY ${PROJECT_BINARY_DIR}/installed/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
