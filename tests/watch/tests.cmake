# Tests of src/watch: hang monitor, call watch, spool.

find_package(Threads REQUIRED)

# fw_spool_test(NAME FILES...): with folders of reports under the build tree.
function(fw_spool_test name)
  fw_test(${name} ${ARGN} watch/spool_support.c)
  target_compile_definitions(test_${name} PRIVATE SPOOL_FOLDERS="${CMAKE_CURRENT_BINARY_DIR}")
  target_link_libraries(test_${name} PRIVATE Threads::Threads)
endfunction()

fw_spool_test(spool watch/spool_test.c)
# Upload: its parts with a transport of our own, and the library and the command with a real server.
if(TARGET framewalk_upload_core)
  fw_test(upload watch/upload_test.c watch/upload_reports.c)
  target_link_libraries(test_upload PRIVATE framewalk_upload_core)
  set_tests_properties(upload PROPERTIES LABELS concurrency)

  add_executable(upload_driver watch/upload_driver.c watch/upload_reports.c)
  target_link_libraries(upload_driver PRIVATE framewalk_upload_shared framewalk_core)
  target_compile_definitions(upload_driver PRIVATE _GNU_SOURCE)
  target_include_directories(upload_driver PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  add_test(NAME upload_server COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/watch/upload_test.py
    $<TARGET_FILE:upload_driver> $<TARGET_FILE:framewalk>)
  set_tests_properties(upload_server PROPERTIES TIMEOUT 600 LABELS concurrency)
endif()
