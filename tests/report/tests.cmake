# Tests of src/report.
foreach(name IN ITEMS jdoc read write v5 shared)
  fw_symbols_test(report_${name} report/${name}_test.c report/support.c)
  target_compile_definitions(test_report_${name} PRIVATE
    FW_REPORT_DATA="${CMAKE_CURRENT_LIST_DIR}/data")
endforeach()
