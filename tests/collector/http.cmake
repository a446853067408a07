# The HTTP server with handlers of the test's own, and the whole one.
fw_collector_test(http_parse collector/http_parse_test.c)
add_executable(http_driver collector/http_driver.c)
target_link_libraries(http_driver PRIVATE framewalk_collector framewalk_symbols_core framewalk_core)
fw_collector_script(collector_http http_test.py $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:http_driver>)
fw_collector_script(collector_edge edge_test.py $<TARGET_FILE:framewalk_collector_program>)
fw_collector_script(collector_access access_test.py $<TARGET_FILE:framewalk_collector_program>)
fw_collector_script(collector_access_postgres access_test.py $<TARGET_FILE:framewalk_collector_program> --postgres)
set_tests_properties(collector_http collector_access PROPERTIES LABELS concurrency)
