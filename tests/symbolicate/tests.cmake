# Tests of src/symbolicate.
fw_symbols_test(find_files symbolicate/find_test.c object/fixture.c)
fw_symbols_test(debuginfod symbolicate/debuginfod_test.c object/fixture.c)
