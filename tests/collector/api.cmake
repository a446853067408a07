# The API without a server.
fw_collector_test(collector_flame_tree collector/flame_tree_test.c)

# A database as after a month, for the tests and the bench of the API.
add_executable(collector_fill collector/fill.c)
target_link_libraries(collector_fill PRIVATE framewalk_collector framewalk_symbols_core framewalk_core m)

# The API: every call against docs/openapi.yaml, and what hostile texts of reports become.
add_executable(post_body collector/post_body.c)
target_include_directories(post_body PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(post_body PRIVATE collector_reports framewalk_core)
fw_collector_script(collector_plans plans_test.py $<TARGET_FILE:framewalk_collector_program>
  $<TARGET_FILE:test_groups> $<TARGET_FILE:collector_fill> $<TARGET_FILE:post_body>)
foreach(name IN ITEMS openapi api versions calls)
  fw_collector_script(collector_${name} ${name}_test.py
    $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:post_body> $<TARGET_FILE:framewalk>)
endforeach()

# What one project sends is its own: every route with a token of another one.
foreach(database IN ITEMS "" postgres)
  string(JOIN "_" name collector_isolation ${database})
  string(REPLACE "postgres" "--postgres" option "${database}")
  fw_collector_script(${name} isolation_test.py
    $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:post_body> $<TARGET_FILE:framewalk>
    ${option})
endforeach()
