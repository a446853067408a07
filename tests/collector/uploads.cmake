# Uploads against the real server, and the sender of debug files.
fw_collector_test(unpack collector/unpack_test.c)
target_link_libraries(test_unpack PRIVATE framewalk_unpack)
fw_collector_test(sandbox collector/sandbox_test.c)
target_link_libraries(test_sandbox PRIVATE framewalk_lockdown)
target_compile_definitions(test_sandbox PRIVATE CONVERTER="$<TARGET_FILE:framewalk_converter>")
add_dependencies(test_sandbox framewalk_converter)
foreach(name IN ITEMS uploads push_files)
  add_test(NAME collector_${name} COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    python3 ${CMAKE_CURRENT_SOURCE_DIR}/collector/${name}_test.py
    $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:framewalk>)
  set_tests_properties(collector_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endforeach()
