# Made-up reports, and who sends them to a server: for tests and the bench.
add_library(collector_reports STATIC collector/reports.c)
target_include_directories(collector_reports PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(collector_reports PRIVATE framewalk_core)
fw_collector_test(collector_digest collector/digest_test.c)
target_link_libraries(test_collector_digest PRIVATE collector_reports)
fw_collector_test(collector_intake collector/intake_test.c collector/db_support.c)
target_link_libraries(test_collector_intake PRIVATE collector_reports)
fw_collector_script(collector_intake_postgres postgres.py $<TARGET_FILE:test_collector_intake>)
set_tests_properties(collector_intake PROPERTIES LABELS concurrency)
fw_collector_test(collector_scrub collector/scrub_test.c)
add_executable(collector_make collector/make.c)
target_include_directories(collector_make PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(collector_make PRIVATE collector_reports framewalk_core)
foreach(name IN ITEMS intake kill)
  fw_collector_script(collector_${name}_http ${name}_test.py
    $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:collector_make>
    ${PROJECT_SOURCE_DIR}/../shared/data/reports)
endforeach()
