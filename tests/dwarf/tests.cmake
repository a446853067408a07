# Tests of src/dwarf.
fw_symbols_test(dwarf_line dwarf/line_test.c object/fixture.c)
fw_symbols_test(dwarf_nested dwarf/nested_test.c object/fixture.c)
