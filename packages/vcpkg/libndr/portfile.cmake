# The port builds the sources around it: vcpkg install libndr --overlay-ports=packages/vcpkg
get_filename_component(SOURCE_PATH ${CURRENT_PORT_DIR}/../../.. ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS options FEATURES tools NDR_BUILD_TOOLS)
vcpkg_cmake_configure(
  SOURCE_PATH ${SOURCE_PATH}
  OPTIONS ${options} -DNDR_BUILD_TESTS=OFF -DNDR_BUILD_EXAMPLES=OFF -DNDR_BUILD_MPI=OFF -DCMAKE_INSTALL_DOCDIR=share/libndr/doc)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME ndr CONFIG_PATH lib/cmake/ndr)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES ndr AUTO_CLEAN)
endif()
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/debug/include ${CURRENT_PACKAGES_DIR}/debug/share)
vcpkg_install_copyright(FILE_LIST ${SOURCE_PATH}/LICENSE)
file(INSTALL ${CMAKE_CURRENT_LIST_DIR}/usage DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT})
