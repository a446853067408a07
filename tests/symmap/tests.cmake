# Tests of src/symmap.
fw_symbols_test(symmap_map symmap/map_test.c symmap/model.c)
