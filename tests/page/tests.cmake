# The page in headless Chromium; skipped, saying why, where chromium or web/node_modules is not there.
if(FW_PAGE AND NOT FW_SANITIZE) # once is enough
  add_test(NAME page COMMAND ${CMAKE_COMMAND} -E env FW_PAGE_FILES=${PROJECT_BINARY_DIR}/page/files
    FW_PAGE_PICTURES=${PROJECT_BINARY_DIR}/../page
    ${FW_NODE} ${CMAKE_CURRENT_SOURCE_DIR}/page/run.mjs $<TARGET_FILE:framewalk_collector_program>)
  set_tests_properties(page PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()
