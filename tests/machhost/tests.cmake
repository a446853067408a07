# Tests of the Mach-O host itself. Those that are to be caught must say why, and fail.
fw_test(machhost_threads machhost/host_threads_test.c)

function(fw_caught name argument status text)
  add_test(NAME ${name}_${argument} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/machhost/caught.sh ${status} ${text}
    ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:test_${name}> ${argument})
  set_tests_properties(${name}_${argument} PROPERTIES TIMEOUT 60)
endfunction()
fw_caught(machhost_threads leak 97 "task_threads: 1 arrays were not deallocated")
fw_caught(machhost_threads forget 97 "thread port 0x[0-9a-f]+ .*: still suspended, count 1")
fw_caught(machhost_threads overdraw 97 "port 0x[0-9a-f]+: 1 rights given back, but only 0 were taken")
fw_caught(machhost_threads forbidden 98 "getpid was called while 1 other threads were held suspended: forbidden")

fw_test(machhost_signals machhost/host_signals_test.c)

# A dylib with the fixups that the linker makes for this target, and with the other kind.
add_library(machhost_needed SHARED machhost/host_needed.c)
target_include_directories(machhost_needed PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
foreach(kind IN ITEMS plain chained)
  add_library(machhost_module_${kind} SHARED machhost/host_module.c)
  target_include_directories(machhost_module_${kind} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(machhost_module_${kind} PRIVATE machhost_needed)
  target_link_options(machhost_module_${kind} PRIVATE -Wl,-U,_needed_by_nobody)
endforeach()
target_link_options(machhost_module_plain PRIVATE -Wl,-no_fixup_chains)
target_link_options(machhost_module_chained PRIVATE -Wl,-fixup_chains)
fw_test(machhost_images machhost/host_images_test.c)
add_dependencies(test_machhost_images machhost_module_plain machhost_module_chained)
target_compile_definitions(test_machhost_images PRIVATE
  MODULE_FILE="$<TARGET_FILE:machhost_module_plain>"
  MODULE_FILE_OTHER_FIXUPS="$<TARGET_FILE:machhost_module_chained>")

if(CMAKE_SYSTEM_PROCESSOR STREQUAL "arm64")
  fw_test(machhost_pac machhost/host_pac_test.c)
  target_compile_options(test_machhost_pac PRIVATE -mbranch-protection=pac-ret)
endif()
