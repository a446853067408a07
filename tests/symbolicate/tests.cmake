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
fw_symbols_test(symbolicate_tail symbolicate/tail_test.c symbolicate/own_stack.c)
list(TRANSFORM fw_tail_programs REPLACE "(.+)" "\"\\1\"" OUTPUT_VARIABLE fw_tail_strings)
list(JOIN fw_tail_strings "," fw_tail_strings)
target_compile_definitions(test_symbolicate_tail PRIVATE "TAIL_PROGRAMS=${fw_tail_strings}")
add_dependencies(test_symbolicate_tail program_tail_calls)

# Two units each, as C and as C++.
set(fw_unit_programs)
set(fw_unit_sources ${CMAKE_CURRENT_SOURCE_DIR}/programs/tail_units_a.c ${CMAKE_CURRENT_SOURCE_DIR}/programs/tail_units_b.c)
foreach(compiler IN ITEMS gcc clang-19 g++ clang++-19)
  find_program(FW_TAIL_${compiler} ${compiler})
  if(FW_TAIL_${compiler})
    set(language c)
    if(compiler MATCHES "\\+\\+")
      set(language c++)
    endif()
    set(program ${CMAKE_CURRENT_BINARY_DIR}/libtail_units_${compiler}.so)
    add_custom_command(OUTPUT ${program} DEPENDS ${fw_unit_sources} programs/tail_units.h
      COMMAND ${FW_TAIL_${compiler}} -x ${language} -O2 -g -fPIC -shared -fvisibility=hidden -Wl,--build-id
              -o ${program} ${fw_unit_sources}
      VERBATIM)
    list(APPEND fw_unit_programs ${program})
  endif()
endforeach()
add_custom_target(program_tail_units DEPENDS ${fw_unit_programs})
list(TRANSFORM fw_unit_programs REPLACE "(.+)" "\"\\1\"" OUTPUT_VARIABLE fw_unit_strings)
list(JOIN fw_unit_strings "," fw_unit_strings)
# fw_units_test(NAME): a test of how sources are used, on these programs.
function(fw_units_test name)
  fw_symbols_test(symbolicate_${name} symbolicate/${name}_test.c ${ARGN})
  target_compile_definitions(test_symbolicate_${name} PRIVATE "TAIL_UNIT_PROGRAMS=${fw_unit_strings}")
  add_dependencies(test_symbolicate_${name} program_tail_units)
endfunction()
fw_units_test(tail_units symbolicate/own_stack.c)
fw_units_test(api)
fw_units_test(cache)
fw_alloc_test(symbolicate_memory symbolicate/memory_test.c)
target_link_libraries(test_symbolicate_memory PRIVATE framewalk_symbols_core)
target_compile_definitions(test_symbolicate_memory PRIVATE "TAIL_UNIT_PROGRAMS=${fw_unit_strings}")
add_dependencies(test_symbolicate_memory program_tail_units)
fw_units_test(threads)
target_link_libraries(test_symbolicate_threads PRIVATE Threads::Threads)
set_tests_properties(symbolicate_threads PROPERTIES LABELS concurrency)

fw_symbols_test(find_files symbolicate/find_test.c object/fixture.c)
fw_symbols_test(source symbolicate/source_test.c object/fixture.c)
fw_symbols_test(debuginfod symbolicate/debuginfod_test.c object/fixture.c)
