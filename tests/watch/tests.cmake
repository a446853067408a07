# Tests of src/watch: hang monitor, call watch, spool.

find_package(Threads REQUIRED)

# fw_spool_test(NAME FILES...): with folders of reports under the build tree.
function(fw_spool_test name)
  fw_test(${name} ${ARGN} watch/spool_support.c)
  target_compile_definitions(test_${name} PRIVATE SPOOL_FOLDERS="${CMAKE_CURRENT_BINARY_DIR}")
  target_link_libraries(test_${name} PRIVATE Threads::Threads)
endfunction()

fw_spool_test(spool watch/spool_test.c)
