# Tests of src/collector. Those in Python talk to the real server, which they start on a free port.
function(fw_collector_test name)
  fw_symbols_test(${name} ${ARGN})
  target_link_libraries(test_${name} PRIVATE framewalk_collector)
endfunction()

fw_collector_test(grouping_names collector/grouping_names_test.c)
fw_collector_test(grouping collector/grouping_test.c)
foreach(name IN ITEMS jobs groups)
  fw_collector_test(${name} collector/${name}_test.c collector/db_support.c collector/store_map.c)
  add_test(NAME ${name}_postgres COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    python3 ${CMAKE_CURRENT_SOURCE_DIR}/collector/postgres.py $<TARGET_FILE:test_${name}>)
  set_tests_properties(${name}_postgres PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()

# The same tests on SQLite and, where it is installed, on a PostgreSQL server that they start.
foreach(name IN ITEMS db db_threads db_schema)
  fw_collector_test(${name} collector/${name}_test.c collector/db_support.c)
  add_test(NAME ${name}_postgres COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    python3 ${CMAKE_CURRENT_SOURCE_DIR}/collector/postgres.py $<TARGET_FILE:test_${name}>)
  set_tests_properties(${name}_postgres PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()
# The programs of the tests of tail calls.
fw_collector_test(collector_symbols collector/symbols_test.c collector/store_map.c)
set(fw_symbol_programs ${fw_tail_strings} ${fw_unit_strings})
list(JOIN fw_symbol_programs "," fw_symbol_programs)
target_compile_definitions(test_collector_symbols PRIVATE "SYMBOL_PROGRAMS=${fw_symbol_programs}")
add_dependencies(test_collector_symbols program_tail_calls program_tail_units)
set_tests_properties(collector_symbols PROPERTIES LABELS concurrency)
fw_collector_test(collector_symbol_layout collector/symbol_layout_test.c)

# A database as after a month, for the tests and the bench of the API.
add_executable(collector_fill collector/fill.c)
target_link_libraries(collector_fill PRIVATE framewalk_collector framewalk_symbols_core framewalk_core m)

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

# The same on files and on the stand-in for S3 that the test brings; on another implementation where
# one is installed.
foreach(name IN ITEMS blobs blobs_faults)
  fw_collector_test(${name} collector/${name}_test.c collector/blobs_support.c)
  add_test(NAME ${name}_s3 COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    python3 ${CMAKE_CURRENT_SOURCE_DIR}/collector/s3.py $<TARGET_FILE:test_${name}>)
  add_test(NAME ${name}_versitygw COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    python3 ${CMAKE_CURRENT_SOURCE_DIR}/collector/s3.py --real $<TARGET_FILE:test_${name}>)
  set_tests_properties(${name}_s3 ${name}_versitygw PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
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
set_tests_properties(collector_http collector_access PROPERTIES TIMEOUT 600 LABELS concurrency)

# Made-up reports, and who sends them to a server: for tests and the bench.
add_library(collector_reports STATIC collector/reports.c)
target_include_directories(collector_reports PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(collector_reports PRIVATE framewalk_core)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME collector_symbol_paths COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/collector/symbol_paths_test.py
  $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:framewalk>)
set_tests_properties(collector_symbol_paths PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
fw_collector_test(collector_digest collector/digest_test.c)
target_link_libraries(test_collector_digest PRIVATE collector_reports)
fw_collector_test(collector_intake collector/intake_test.c collector/db_support.c)
target_link_libraries(test_collector_intake PRIVATE collector_reports)
add_test(NAME collector_intake_postgres COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
  python3 ${CMAKE_CURRENT_SOURCE_DIR}/collector/postgres.py $<TARGET_FILE:test_collector_intake>)
set_tests_properties(collector_intake collector_intake_postgres PROPERTIES
  SKIP_RETURN_CODE 77 TIMEOUT 300 LABELS concurrency)
fw_collector_test(collector_scrub collector/scrub_test.c)
add_executable(collector_make collector/make.c)
target_include_directories(collector_make PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(collector_make PRIVATE collector_reports framewalk_core)
foreach(name IN ITEMS intake kill)
  add_test(NAME collector_${name}_http COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/collector/${name}_test.py
    $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:collector_make>
    ${PROJECT_SOURCE_DIR}/../shared/data/reports)
  set_tests_properties(collector_${name}_http PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()
