# Grouping, the rules, groups in the database, and jobs.
fw_collector_test(grouping_names collector/grouping_names_test.c)
fw_collector_test(grouping collector/grouping_test.c)
foreach(name IN ITEMS groups jobs)
  fw_collector_test(${name} collector/${name}_test.c collector/db_support.c collector/store_map.c)
  fw_collector_script(${name}_postgres postgres.py $<TARGET_FILE:test_${name}>)
endforeach()
set_tests_properties(jobs PROPERTIES LABELS concurrency)
fw_collector_script(collector_groups_api groups_api_test.py $<TARGET_FILE:framewalk_collector_program>)
