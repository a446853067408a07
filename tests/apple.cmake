# Tests of the Apple side: run where the build runs when that is a Mac, else in the Mach-O host (machhost/).
fw_test(reader base/reader_test.c)
fw_test(cfi_program unwind/cfi_program_test.c)
fw_test(expr unwind/expr_test.c)
fw_test(stack_table capture/stack_table_test.c)

fw_test(image_table os/image_table_test.c)

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

if(FW_MACHHOST)
  fw_stripped_plugin(PLUGIN_NONE none --strip-all) # which Apple's own strip refuses
  include(machhost/tests.cmake)
  fw_test(mach_threads capture/mach_threads_test.c)
  fw_test(mach_faults capture/mach_faults_test.c)
endif()
