# Tests of src/symbolicate.

# Programs of which the source tells what must be shown, by both compilers; never with sanitizers.
set(fw_tail_programs)
foreach(compiler IN ITEMS gcc clang-19)
  find_program(FW_TAIL_${compiler} ${compiler})
  if(FW_TAIL_${compiler})
    set(program ${CMAKE_CURRENT_BINARY_DIR}/libtail_calls_${compiler}.so)
    add_custom_command(OUTPUT ${program} DEPENDS programs/tail_calls.c
      COMMAND ${FW_TAIL_${compiler}} -O2 -g -fPIC -shared -o ${program}
              ${CMAKE_CURRENT_SOURCE_DIR}/programs/tail_calls.c)
    list(APPEND fw_tail_programs ${program})
  endif()
endforeach()
add_custom_target(program_tail_calls DEPENDS ${fw_tail_programs})
fw_symbols_test(symbolicate_tail symbolicate/tail_test.c)
list(TRANSFORM fw_tail_programs REPLACE "(.+)" "\"\\1\"" OUTPUT_VARIABLE fw_tail_strings)
list(JOIN fw_tail_strings "," fw_tail_strings)
target_compile_definitions(test_symbolicate_tail PRIVATE "TAIL_PROGRAMS=${fw_tail_strings}")
add_dependencies(test_symbolicate_tail program_tail_calls)
fw_symbols_test(find_files symbolicate/find_test.c object/fixture.c)
fw_symbols_test(source symbolicate/source_test.c object/fixture.c)
fw_symbols_test(debuginfod symbolicate/debuginfod_test.c object/fixture.c)
