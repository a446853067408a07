# Tests of src/report.
foreach(name IN ITEMS jdoc read write v5 shared)
  fw_symbols_test(report_${name} report/${name}_test.c report/support.c)
  target_compile_definitions(test_report_${name} PRIVATE
    FW_REPORT_DATA="${CMAKE_CURRENT_LIST_DIR}/data")
endforeach()
fw_alloc_test(report_memory report/memory_test.c report/watch_reports.c report/support.c)
target_link_libraries(test_report_memory PRIVATE framewalk_symbols_core)
target_compile_definitions(test_report_memory PRIVATE FW_REPORT_DATA="${CMAKE_CURRENT_LIST_DIR}/data")
fw_symbols_test(perf_map report/perf_map_test.c)
fw_symbols_test(report_forms report/forms_test.c report/watch_reports.c report/support.c)
target_compile_definitions(test_report_forms PRIVATE FW_REPORT_DATA="${CMAKE_CURRENT_LIST_DIR}/data")
# What the forms are for: programs that open them, as far as they are here.
if(NOT CMAKE_CROSSCOMPILING)
  add_executable(report_to_files report/to_files.c report/watch_reports.c)
  target_include_directories(report_to_files PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(report_to_files PRIVATE framewalk_symbols_core framewalk_core)
  add_test(NAME report_consumers COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/consumers_test.py
    $<TARGET_FILE:report_to_files> $<TARGET_FILE:framewalk> ${PROJECT_SOURCE_DIR}/../shared/data/reports
    ${CMAKE_CURRENT_LIST_DIR}/data)
  set_tests_properties(report_consumers PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
foreach(name IN ITEMS damage threads write)
  fw_symbols_test(report_fwr_${name} report/fwr_${name}_test.c report/fwr_support.c report/support.c)
  target_compile_definitions(test_report_fwr_${name} PRIVATE
    FW_REPORT_DATA="${CMAKE_CURRENT_LIST_DIR}/data")
endforeach()
fw_alloc_test(report_fwr_memory report/fwr_memory_test.c report/fwr_support.c report/support.c)
target_link_libraries(test_report_fwr_memory PRIVATE framewalk_symbols_core)
target_compile_definitions(test_report_fwr_memory PRIVATE FW_REPORT_DATA="${CMAKE_CURRENT_LIST_DIR}/data")
find_package(Threads REQUIRED)
target_link_libraries(test_report_fwr_threads PRIVATE Threads::Threads)
# Read and written by protobuf's own tools.
add_executable(fwr_example report/fwr_example.c report/fwr_support.c)
target_link_libraries(fwr_example PRIVATE framewalk_core)
target_include_directories(fwr_example PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
add_test(NAME report_fwr_proto COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/fwr_proto_test.sh
  ${PROJECT_SOURCE_DIR}/docs $<TARGET_FILE:fwr_example> $<TARGET_FILE:framewalk>)
set_tests_properties(report_fwr_proto PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
