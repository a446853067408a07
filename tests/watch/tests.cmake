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
if(TARGET framewalk_symbols_core) # which reads them back
  fw_spool_test(hang_report watch/hang_report_test.c watch/hand_clock.c)
  target_link_libraries(test_hang_report PRIVATE framewalk_symbols_core)
endif()

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
fw_spool_test(spool_processes watch/spool_processes_test.c)
fw_spool_test(spool_folders watch/spool_folders_test.c)

# Its system calls go through support/sys_fail.c.
fw_spool_test(spool_faults watch/spool_faults_test.c support/sys_fail.c)
target_compile_definitions(test_spool_faults PRIVATE SPOOL_IN_MEMORY)
if(CMAKE_CROSSCOMPILING OR FW_SANITIZE)
  target_compile_definitions(test_spool_faults PRIVATE STEP=5)
endif()
foreach(name IN ITEMS mkdir open openat fdopendir readdir fstat fstatat flock getentropy pread pwrite ftruncate
    fdatasync fsync renameat unlinkat close mmap)
  if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND name MATCHES "^(open|openat|readdir|fstat|fstatat|pread|pwrite|ftruncate|mmap)$")
    set(name ${name}64) # what these are called where off_t has 64 bits
  endif()
  target_link_options(test_spool_faults PRIVATE -Wl,--wrap=${name})
endforeach()

# kill -9 at random moments; bench/watch.sh runs it for longer.
add_executable(spool_kill ../bench/watch_kill.c watch/spool_support.c)
target_link_libraries(spool_kill PRIVATE framewalk_core Threads::Threads)
target_compile_definitions(spool_kill PRIVATE _GNU_SOURCE SPOOL_FOLDERS="${CMAKE_CURRENT_BINARY_DIR}")
target_include_directories(spool_kill PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
add_test(NAME spool_kill COMMAND spool_kill ${CMAKE_CURRENT_BINARY_DIR}/spool_kill.folder 60)
set_tests_properties(spool_kill PROPERTIES TIMEOUT 300)
include(watch/calls.cmake)

fw_test(locate watch/locate_test.c)
add_library(locate_module MODULE watch/locate_module.c)
target_link_options(locate_module PRIVATE -Wl,--build-id=sha1)
target_compile_definitions(test_locate PRIVATE LOCATE_MODULE="$<TARGET_FILE:locate_module>")
add_dependencies(test_locate locate_module)

# And on the real clock.
fw_spool_test(hang_real watch/hang_real_test.c)
add_library(hang_module MODULE watch/hang_module.c)
target_compile_definitions(test_hang_real PRIVATE HANG_MODULE="$<TARGET_FILE:hang_module>")
add_dependencies(test_hang_real hang_module)
set_target_properties(test_hang_real PROPERTIES ENABLE_EXPORTS ON)
target_link_libraries(test_hang_real PRIVATE ${CMAKE_DL_LIBS})
fw_test(hang_leaves watch/hang_leaves_test.c)
target_link_libraries(test_hang_leaves PRIVATE Threads::Threads)
fw_spool_test(hang_exit watch/hang_exit_test.c)
# Upload: its parts with a transport of our own, and the library and the command with a real server.
if(TARGET framewalk_upload_core)
  fw_spool_test(upload watch/upload_test.c watch/upload_reports.c
    ${PROJECT_SOURCE_DIR}/src/watch/upload_retry_after.c) # of the library on Apple's systems alone
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

include(watch/run.cmake)
