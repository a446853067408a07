# Tests of src/symmap.
fw_symbols_test(symmap_map symmap/map_test.c symmap/model.c)
fw_symbols_test(flatten symmap/flatten_test.c)
fw_symbols_test(flatten_programs symmap/flatten_programs_test.c object/fixture.c)
fw_alloc_test(flatten_memory symmap/flatten_memory_test.c)
target_link_libraries(test_flatten_memory PRIVATE framewalk_symbols_core)
fw_symbols_test(symmap_build symmap/build_test.c)
target_compile_definitions(test_symmap_build PRIVATE
  FW_SYMBOL_MAP_DOC="${PROJECT_SOURCE_DIR}/docs/symbol-map.md")
fw_symbols_test(code_move symmap/code_move_test.c object/fixture.c)
fw_symbols_test(symmap_formats symmap/formats_test.c symmap/rows.c)
fw_symbols_test(symmap_verify symmap/verify_test.c symmap/rows.c)
