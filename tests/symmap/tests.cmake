# Tests of src/symmap.
fw_symbols_test(flatten symmap/flatten_test.c)
