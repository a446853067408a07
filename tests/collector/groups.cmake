# Grouping, groups and jobs; on SQLite, and where it is installed on a PostgreSQL server that the
# tests start.
fw_collector_test(grouping_names collector/grouping_names_test.c)
fw_collector_test(grouping collector/grouping_test.c)
foreach(name IN ITEMS jobs groups)
  fw_collector_test(${name} collector/${name}_test.c collector/db_support.c collector/store_map.c)
  add_test(NAME ${name}_postgres COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    python3 ${CMAKE_CURRENT_SOURCE_DIR}/collector/postgres.py $<TARGET_FILE:test_${name}>)
  set_tests_properties(${name}_postgres PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()
add_test(NAME collector_groups_api COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
  python3 ${CMAKE_CURRENT_SOURCE_DIR}/collector/groups_api_test.py
  $<TARGET_FILE:framewalk_collector_program>)
set_tests_properties(collector_groups_api PROPERTIES TIMEOUT 300)
