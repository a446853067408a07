# The programs of the Apple figures, and two libraries of many functions for them to call.
foreach(count IN ITEMS 1000 10000 100000)
  set(functions ${CMAKE_CURRENT_BINARY_DIR}/functions_${count}.s)
  add_custom_command(OUTPUT ${functions} VERBATIM
    COMMAND awk -v count=${count} -f ${CMAKE_CURRENT_SOURCE_DIR}/apple_functions.awk > ${functions}
    DEPENDS apple_functions.awk)
  add_library(bench_functions_${count} SHARED ${functions})
  set_target_properties(bench_functions_${count} PROPERTIES LINKER_LANGUAGE C)
  target_compile_options(bench_functions_${count} PRIVATE -g0) # debug information adds symbols of its own
endforeach()

foreach(name IN ITEMS stop names repeat)
  add_executable(bench_apple_${name} apple_${name}.c apple_peer.c)
  target_link_libraries(bench_apple_${name} PRIVATE framewalk_static)
  target_compile_options(bench_apple_${name} PRIVATE -fno-optimize-sibling-calls)
endforeach()
