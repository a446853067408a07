# Tests of src/collector. Those in Python talk to the real server, which they start on a free port.
function(fw_collector_test name)
  fw_symbols_test(${name} ${ARGN})
  target_link_libraries(test_${name} PRIVATE framewalk_collector)
endfunction()

fw_collector_test(grouping_names collector/grouping_names_test.c)
fw_collector_test(grouping collector/grouping_test.c)

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

# Debug files into the data folder of a server.
add_executable(store_file collector/store_file.c collector/store_map.c)
target_include_directories(store_file PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(store_file PRIVATE framewalk_collector framewalk_symbols_core framewalk_core)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME collector_symbol_paths COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/collector/symbol_paths_test.py
  $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:framewalk> $<TARGET_FILE:store_file>)
set_tests_properties(collector_symbol_paths PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
