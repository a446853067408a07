# The symbol store. The programs are those of the tests of tail calls.
fw_collector_test(collector_symbols collector/symbols_test.c collector/store_map.c)
set(fw_symbol_programs ${fw_tail_strings} ${fw_unit_strings})
list(JOIN fw_symbol_programs "," fw_symbol_programs)
target_compile_definitions(test_collector_symbols PRIVATE "SYMBOL_PROGRAMS=${fw_symbol_programs}")
add_dependencies(test_collector_symbols program_tail_calls program_tail_units)
set_tests_properties(collector_symbols PROPERTIES LABELS concurrency)
fw_collector_test(collector_symbol_layout collector/symbol_layout_test.c)

# Tools that fetch from the real server.
fw_collector_script(collector_symbol_paths symbol_paths_test.py
  $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:framewalk>)
# Return addresses of 32-bit ARM, in reports, as addresses, and on the server.
fw_collector_script(report_thumb thumb_test.py
  $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:framewalk>)
