find_package(Python3 REQUIRED COMPONENTS Interpreter)
# Made-up reports, and who sends them to a server: for tests and the bench.
add_library(collector_reports STATIC collector/reports.c)
target_include_directories(collector_reports PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(collector_reports PRIVATE framewalk_core)
fw_collector_test(collector_digest collector/digest_test.c)
target_link_libraries(test_collector_digest PRIVATE collector_reports)
fw_collector_test(collector_intake collector/intake_test.c collector/db_support.c)
target_link_libraries(test_collector_intake PRIVATE collector_reports)
add_test(NAME collector_intake_postgres COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
  python3 ${CMAKE_CURRENT_SOURCE_DIR}/collector/postgres.py $<TARGET_FILE:test_collector_intake>)
set_tests_properties(collector_intake collector_intake_postgres PROPERTIES
  SKIP_RETURN_CODE 77 TIMEOUT 300 LABELS concurrency)
fw_collector_test(collector_scrub collector/scrub_test.c)
add_executable(collector_make collector/make.c)
target_include_directories(collector_make PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(collector_make PRIVATE collector_reports framewalk_core)
foreach(name IN ITEMS intake kill)
  add_test(NAME collector_${name}_http COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/collector/${name}_test.py
    $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:collector_make>
    ${PROJECT_SOURCE_DIR}/../shared/data/reports)
  set_tests_properties(collector_${name}_http PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()
