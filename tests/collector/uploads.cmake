# Debug files in: unpacking, the walls around it, uploads to the real server, and the command that sends.
fw_collector_test(unpack collector/unpack_test.c)
target_link_libraries(test_unpack PRIVATE framewalk_unpack)
fw_collector_test(sandbox collector/sandbox_test.c)
target_link_libraries(test_sandbox PRIVATE framewalk_lockdown)
target_compile_definitions(test_sandbox PRIVATE CONVERTER="$<TARGET_FILE:framewalk_converter>")
add_dependencies(test_sandbox framewalk_converter)
fw_collector_test(source_store collector/source_store_test.c)
foreach(name IN ITEMS uploads push_files sources)
  fw_collector_script(collector_${name} ${name}_test.py
    $<TARGET_FILE:framewalk_collector_program> $<TARGET_FILE:framewalk>)
endforeach()
