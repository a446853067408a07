# Tests of what is built and installed rather than of one module, and labels over all tests.

set(fw_check ${PROJECT_SOURCE_DIR}/packaging/check)

set(fw_headers ${PROJECT_SOURCE_DIR}/include/framewalk)
file(GLOB fw_capture_headers CONFIGURE_DEPENDS ${fw_headers}/*.h)
list(REMOVE_ITEM fw_capture_headers ${fw_headers}/symbolicate.h ${fw_headers}/upload.h)
add_test(NAME exported_symbols COMMAND sh ${fw_check}/exported.sh ${CMAKE_NM}
  $<TARGET_FILE:framewalk_shared> $<TARGET_FILE:framewalk_static> ${fw_capture_headers})
if(TARGET framewalk_symbols_static)
  add_test(NAME exported_symbols_of_symbols COMMAND sh ${fw_check}/exported.sh ${CMAKE_NM}
    $<TARGET_FILE:framewalk_symbols_shared> $<TARGET_FILE:framewalk_symbols_static>
    ${fw_headers}/symbolicate.h ${fw_headers}/error.h)
endif()
if(TARGET framewalk_upload_static)
  add_test(NAME exported_symbols_of_upload COMMAND sh ${fw_check}/exported.sh ${CMAKE_NM}
    $<TARGET_FILE:framewalk_upload_shared> $<TARGET_FILE:framewalk_upload_static> ${fw_headers}/upload.h)
endif()
add_test(NAME libc_alone COMMAND sh ${fw_check}/needed.sh ${CMAKE_READELF} $<TARGET_FILE:framewalk_shared>)
# Half of it are the stacks of capture/slot.h: no memory before threads are captured, and 4 to 12 KB for each captured at once.
add_test(NAME footprint COMMAND sh ${fw_check}/footprint.sh ${CMAKE_READELF} $<TARGET_FILE:framewalk_shared> 1048576)
add_test(NAME layers COMMAND sh ${fw_check}/layers.sh ${PROJECT_SOURCE_DIR}/src)
add_test(NAME async_safety COMMAND sh ${fw_check}/async-safety.sh ${CMAKE_OBJDUMP}
  ${PROJECT_SOURCE_DIR}/packaging/check $<TARGET_OBJECTS:framewalk_core> COMMAND_EXPAND_LISTS)
add_test(NAME hang_locks COMMAND ${CMAKE_COMMAND} -E env FW_PATH=hang sh ${fw_check}/async-safety.sh
  ${CMAKE_OBJDUMP} ${PROJECT_SOURCE_DIR}/packaging/check $<TARGET_OBJECTS:framewalk_core> COMMAND_EXPAND_LISTS)
add_test(NAME install COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/install/install_test.sh
  ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${CMAKE_C_COMPILER} ${CMAKE_GENERATOR})
set_tests_properties(install PROPERTIES TIMEOUT 120)

if(FW_SANITIZE) # instrumented code calls the sanitizer's runtime, and is never installed
  set_tests_properties(exported_symbols libc_alone footprint async_safety hang_locks install PROPERTIES DISABLED TRUE)
elseif(CMAKE_CROSSCOMPILING) # the consumers are built with the machine's own compiler
  set_tests_properties(install PROPERTIES DISABLED TRUE)
endif()

# What the thread sanitizer runs; it puts signals off, so tests of handlers are not among it.
foreach(name IN ITEMS stack_table rule_cache slot threads_callers threads_stuck images names
    image_table stack_names hang_glib hang_uv)
  if(TEST ${name})
    set_property(TEST ${name} APPEND PROPERTY LABELS concurrency)
  endif()
endforeach()
