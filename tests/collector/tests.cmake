# Tests of src/collector. Those in Python talk to the real server, which they start on a free port.
function(fw_collector_test name)
  fw_symbols_test(${name} ${ARGN})
  target_link_libraries(test_${name} PRIVATE framewalk_collector)
endfunction()

include(collector/api.cmake)
include(collector/groups.cmake)
include(collector/intake.cmake)
include(collector/store.cmake)
include(collector/symbols.cmake)

# Uploads against the real server, and the sender of debug files.
fw_collector_test(unpack collector/unpack_test.c)
target_link_libraries(test_unpack PRIVATE framewalk_unpack)
fw_collector_test(sandbox collector/sandbox_test.c)
target_link_libraries(test_sandbox PRIVATE framewalk_lockdown)
target_compile_definitions(test_sandbox PRIVATE CONVERTER="$<TARGET_FILE:framewalk_converter>")
add_dependencies(test_sandbox framewalk_converter)
foreach(name IN ITEMS uploads push_files)
  add_test(NAME collector_${name} COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    python3 ${CMAKE_CURRENT_SOURCE_DIR}/collector/${name}_test.py
    $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:framewalk>)
  set_tests_properties(collector_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endforeach()

fw_collector_test(http_parse collector/http_parse_test.c)

# The HTTP server with handlers of the test's own, and the whole one.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_executable(http_driver collector/http_driver.c)
target_link_libraries(http_driver PRIVATE framewalk_collector framewalk_symbols_core framewalk_core)
add_test(NAME collector_http COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/collector/http_test.py
  $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:http_driver>)
add_test(NAME collector_access COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/collector/access_test.py
  $<TARGET_FILE:framewalk_collector_program>)
add_test(NAME collector_access_postgres COMMAND ${Python3_EXECUTABLE}
  ${CMAKE_CURRENT_SOURCE_DIR}/collector/access_test.py $<TARGET_FILE:framewalk_collector_program> --postgres)
set_tests_properties(collector_http collector_access collector_access_postgres PROPERTIES TIMEOUT 600
  SKIP_RETURN_CODE 77 LABELS concurrency)
