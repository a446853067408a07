# The API without a server.
fw_collector_test(collector_flame_tree collector/flame_tree_test.c)

# A database as after a month, for the tests and the bench of the API.
add_executable(collector_fill collector/fill.c)
target_link_libraries(collector_fill PRIVATE framewalk_collector framewalk_symbols_core framewalk_core m)

# The API: every call against docs/openapi.yaml, and what hostile texts of reports become.
add_executable(post_body collector/post_body.c)
target_include_directories(post_body PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(post_body PRIVATE collector_reports framewalk_core)
foreach(name IN ITEMS openapi api)
  add_test(NAME collector_${name} COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/collector/${name}_test.py
    $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:post_body> $<TARGET_FILE:framewalk>)
  set_tests_properties(collector_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()
