# The collector's page: web/ becomes one C file of the page's files, gzipped. Included by src/CMakeLists.txt, for the collector
# alone. FW_PAGE_SOURCE is the file to compile.
#
# Without npm, or with FW_PAGE off, the collector has a page that says how it is built.

find_program(FW_NPM npm)
find_program(FW_NODE NAMES node nodejs)
if(FW_NPM AND FW_NODE)
  set(page_possible ON)
else()
  set(page_possible OFF)
endif()
option(FW_PAGE "Build the collector's page (npm fetches its libraries)" ${page_possible})

if(NOT FW_PAGE)
  set(FW_PAGE_SOURCE collector/page_none.c)
  return()
endif()
if(NOT page_possible)
  message(FATAL_ERROR "FW_PAGE is on, but npm and node were not found")
endif()

set(FW_PAGE_FOLDER ${PROJECT_BINARY_DIR}/page)
set(FW_PAGE_SOURCE ${FW_PAGE_FOLDER}/page_files.c)
set(page_web ${PROJECT_SOURCE_DIR}/web)
set(page_libraries ${page_web}/node_modules/.package-lock.json) # npm writes it last

add_custom_command(OUTPUT ${page_libraries}
  COMMAND sh -c "'${FW_NPM}' ci --loglevel=error --no-audit --no-fund >'${PROJECT_BINARY_DIR}/npm.log' 2>&1 && touch '${page_libraries}' || { cat '${PROJECT_BINARY_DIR}/npm.log' >&2; echo 'npm could not fetch the libraries of the page; -DFW_PAGE=OFF builds the collector without it' >&2; exit 1; }"
  WORKING_DIRECTORY ${page_web}
  DEPENDS ${page_web}/package-lock.json ${page_web}/package.json
  COMMENT "Fetching the libraries of the collector's page"
  VERBATIM)

file(GLOB_RECURSE page_sources CONFIGURE_DEPENDS ${page_web}/src/*)
add_custom_command(OUTPUT ${FW_PAGE_SOURCE}
  COMMAND ${FW_NODE} build.mjs ${FW_PAGE_FOLDER}
  WORKING_DIRECTORY ${page_web}
  DEPENDS ${page_libraries} ${page_web}/build.mjs ${page_sources}
  COMMENT "Building the collector's page"
  VERBATIM)
