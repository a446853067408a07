# Tests of src/dwarf.
fw_symbols_test(dwarf_line dwarf/line_test.c object/fixture.c)
fw_symbols_test(dwarf_programs dwarf/programs_test.c object/fixture.c)
set_tests_properties(dwarf_programs PROPERTIES LABELS concurrency)
fw_symbols_test(dwarf_corners dwarf/corners_test.c)
fw_symbols_test(dwarf_ceph dwarf/ceph_test.c)
fw_alloc_test(dwarf_memory dwarf/memory_test.c object/fixture.c)
target_link_libraries(test_dwarf_memory PRIVATE framewalk_symbols_core)
fw_symbols_test(dwarf_nested dwarf/nested_test.c object/fixture.c)
