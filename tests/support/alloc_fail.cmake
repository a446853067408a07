# fw_alloc_test(NAME FILES...): a test whose library allocates through support/alloc_fail.c.
set(fw_alloc_options)
foreach(name IN ITEMS malloc calloc realloc free strdup strndup asprintf vasprintf realpath open_memstream
    mmap mmap64 munmap fdopendir)
  list(APPEND fw_alloc_options -Wl,--wrap=${name})
endforeach()
function(fw_alloc_test name)
  fw_test(${name} ${ARGN} support/alloc_fail.c)
  target_link_options(test_${name} PRIVATE ${fw_alloc_options})
endfunction()

fw_alloc_test(names_memory capture/names_memory_test.c)
fw_alloc_test(object_loaded_memory object/loaded_memory_test.c)
target_compile_definitions(test_object_loaded_memory PRIVATE
  LOADED_IMAGE="${PROJECT_SOURCE_DIR}/fuzz/corpus/macho_loaded/flat64")
fw_alloc_test(text_memory capture/text_memory_test.c)
if(TARGET framewalk_codecs)
  fw_alloc_test(process_memory capture/process_memory_test.c capture/target.c)
  target_link_libraries(test_process_memory PRIVATE framewalk_codecs)
  fw_target_programs(process_memory)
  fw_alloc_test(object_memory object/memory_test.c object/fixture.c)
  target_link_libraries(test_object_memory PRIVATE framewalk_codecs)
endif()
