# fw_alloc_test(NAME FILES...): a test whose library allocates through support/alloc_fail.c.
set(fw_alloc_options)
foreach(name IN ITEMS malloc calloc realloc free strdup strndup mmap munmap fdopendir)
  list(APPEND fw_alloc_options -Wl,--wrap=${name})
endforeach()
function(fw_alloc_test name)
  fw_test(${name} ${ARGN} support/alloc_fail.c)
  target_link_options(test_${name} PRIVATE ${fw_alloc_options})
endfunction()

fw_alloc_test(names_memory capture/names_memory_test.c)
