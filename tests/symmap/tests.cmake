# Tests of src/symmap.
fw_symbols_test(symmap_map symmap/map_test.c symmap/model.c)
fw_symbols_test(flatten symmap/flatten_test.c)
