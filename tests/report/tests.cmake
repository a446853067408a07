# Tests of src/report.
foreach(name IN ITEMS jdoc read write v5 shared)
  fw_symbols_test(report_${name} report/${name}_test.c report/support.c)
  target_compile_definitions(test_report_${name} PRIVATE
    FW_REPORT_DATA="${CMAKE_CURRENT_LIST_DIR}/data")
endforeach()
fw_alloc_test(report_memory report/memory_test.c report/support.c)
target_link_libraries(test_report_memory PRIVATE framewalk_symbols_core)
target_compile_definitions(test_report_memory PRIVATE FW_REPORT_DATA="${CMAKE_CURRENT_LIST_DIR}/data")
fw_symbols_test(perf_map report/perf_map_test.c)
