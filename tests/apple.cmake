# Tests of the Apple side: run where the build runs when that is a Mac, else in the Mach-O host (machhost/).
fw_test(reader base/reader_test.c)
fw_test(cfi_program unwind/cfi_program_test.c)
fw_test(expr unwind/expr_test.c)
fw_test(stack_table capture/stack_table_test.c)
fw_test(fwr_bytes report/fwr_bytes_test.c report/fwr_support.c)
include(capture/modules.cmake)
include(capture/text.cmake)
fw_test(self capture/self_test.c)
fw_test(self_crash capture/self_crash_test.c)
target_compile_options(test_self_crash PRIVATE -fno-omit-frame-pointer)
fw_test(self_stack os/self_stack_test.c)

fw_test(image_table os/image_table_test.c)
fw_test(async unwind/async_test.c unwind/async_world.c)
include(capture/async_mach.cmake)

# Images that come and go, with names and with less and less of them.
fw_test(darwin_images os/darwin_images_test.c)
function(fw_plugin name definition)
  add_library(${name} MODULE os/plugin.c)
  target_compile_options(${name} PRIVATE ${ARGN})
  target_compile_definitions(test_darwin_images PRIVATE ${definition}="$<TARGET_FILE:${name}>")
  add_dependencies(test_darwin_images ${name})
endfunction()
function(fw_stripped_plugin definition suffix)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/plugin_${suffix}.so)
  add_custom_command(OUTPUT ${file} DEPENDS plugin VERBATIM
    COMMAND ${CMAKE_STRIP} ${ARGN} $<TARGET_FILE:plugin> -o ${file})
  add_custom_target(plugin_${suffix} DEPENDS ${file})
  target_compile_definitions(test_darwin_images PRIVATE ${definition}="${file}")
  add_dependencies(test_darwin_images plugin_${suffix})
endfunction()
fw_plugin(plugin PLUGIN -O1 -fno-omit-frame-pointer)
fw_plugin(plugin_frameless PLUGIN_FRAMELESS -O1 -fomit-frame-pointer)
fw_stripped_plugin(PLUGIN_S s -S)
fw_stripped_plugin(PLUGIN_X x -x)

include(watch/apple.cmake)

# With the library that people link, of which only what is called for comes along.
add_executable(test_names_alone capture/names_alone_test.c)
target_link_libraries(test_names_alone PRIVATE framewalk_static fw_cmocka)
add_test(NAME names_alone COMMAND test_names_alone)

# What the signal-safe path and the stopped window can reach, seen in the objects that ship.
set(fw_check ${PROJECT_SOURCE_DIR}/packaging/check)
file(GLOB fw_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/framewalk/*.h)
list(FILTER fw_headers EXCLUDE REGEX "/(hang_glib|hang_uv|process|symbolicate|upload)\\.h$") # as in include/module.modulemap
add_test(NAME exported_symbols COMMAND sh ${fw_check}/exported.sh ${CMAKE_NM} $<TARGET_FILE:framewalk_shared>
  $<TARGET_FILE:framewalk_static> ${fw_headers})
add_test(NAME layers COMMAND sh ${fw_check}/layers.sh ${PROJECT_SOURCE_DIR}/src)
add_test(NAME async_safety COMMAND sh ${fw_check}/async-safety.sh ${CMAKE_OBJDUMP} ${fw_check}
  $<TARGET_OBJECTS:framewalk_core> COMMAND_EXPAND_LISTS)
add_test(NAME window COMMAND sh ${fw_check}/window.sh ${CMAKE_NM} ${CMAKE_OBJDUMP} ${fw_check}
  $<FILTER:$<TARGET_OBJECTS:framewalk_core>,INCLUDE,/window\.c>)

if(FW_MACHHOST)
  fw_test(darwin_images_faults os/darwin_images_faults_test.c)
  target_compile_definitions(test_darwin_images_faults PRIVATE PLUGIN="$<TARGET_FILE:plugin>")
  add_dependencies(test_darwin_images_faults plugin)
  fw_stripped_plugin(PLUGIN_NONE none --strip-all) # which Apple's own strip refuses
  include(machhost/tests.cmake)
  fw_test(mach_threads capture/mach_threads_test.c)
  fw_test(mach_faults capture/mach_faults_test.c)
  fw_test(mach_text capture/mach_text_test.c)
  fw_uses_modules(mach_text)
  fw_test(mach_stacks capture/mach_stacks_test.c)
  target_compile_definitions(test_mach_stacks PRIVATE LIBRARY="$<TARGET_FILE:framewalk_shared>")
  add_dependencies(test_mach_stacks framewalk_shared)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "arm64") # the same with signed return addresses
    fw_test(mach_threads_pac capture/mach_threads_test.c)
    target_compile_options(test_mach_threads_pac PRIVATE -mbranch-protection=pac-ret)
    fw_test(self_pac capture/self_test.c)
    target_compile_options(test_self_pac PRIVATE -mbranch-protection=pac-ret)
  endif()
endif()
