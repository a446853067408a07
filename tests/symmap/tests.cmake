# Tests of src/symmap.
fw_symbols_test(symmap_map symmap/map_test.c symmap/model.c)
fw_symbols_test(flatten symmap/flatten_test.c)
fw_symbols_test(flatten_programs symmap/flatten_programs_test.c object/fixture.c)
