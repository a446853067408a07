# Tests of src/watch: hang monitor, call watch, spool.

find_package(Threads REQUIRED)

# fw_spool_test(NAME FILES...): with folders of reports under the build tree.
function(fw_spool_test name)
  fw_test(${name} ${ARGN} watch/spool_support.c)
  target_compile_definitions(test_${name} PRIVATE SPOOL_FOLDERS="${CMAKE_CURRENT_BINARY_DIR}")
  target_link_libraries(test_${name} PRIVATE Threads::Threads)
endfunction()

fw_spool_test(spool watch/spool_test.c)

# The hang monitor on a clock turned by hand.
fw_test(hang_core watch/hang_core_test.c watch/hand_clock.c)
fw_test(hang_veto watch/hang_veto_test.c watch/hand_clock.c)

# Real loops, where their libraries are: else the test says so.
function(fw_loop_test name module)
  if(NOT CMAKE_CROSSCOMPILING)
    pkg_check_modules(FW_LOOP_${name} IMPORTED_TARGET ${module})
  endif()
  if(FW_LOOP_${name}_FOUND)
    fw_test(${name} watch/${name}_test.c)
    target_link_libraries(test_${name} PRIVATE PkgConfig::FW_LOOP_${name} Threads::Threads)
  else()
    add_test(NAME ${name} COMMAND sh -c "echo 'skipped: ${module} is not installed'; exit 77")
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()
fw_loop_test(hang_glib glib-2.0)
fw_loop_test(hang_uv libuv)
