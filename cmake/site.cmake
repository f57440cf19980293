# The book as a static site: `cmake --build build/dev --target site` writes build/dev/site/html/index.html.
# docs/site/build makes it with Doxygen and MkDocs (Debian: doxygen, mkdocs-material).
find_program(NDR_DOXYGEN NAMES doxygen)
find_program(NDR_MKDOCS NAMES mkdocs)
mark_as_advanced(NDR_DOXYGEN NDR_MKDOCS)

set(ndr_site ${PROJECT_BINARY_DIR}/site)
add_custom_target(site
  COMMAND ${PROJECT_SOURCE_DIR}/docs/site/build ${PROJECT_SOURCE_DIR} ${ndr_site}
  VERBATIM COMMENT "The book")
if(NDR_INSTALL)
  install(DIRECTORY ${ndr_site}/html DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
endif()
