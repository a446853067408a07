# Stacks as text, and the cache of names; both are asked about images that come and go.
fw_test(stack_text capture/stack_text_test.c)
foreach(name IN ITEMS text stack_names)
  fw_test(${name} capture/${name}_test.c)
  target_compile_definitions(test_${name} PRIVATE
    MODULE_ONE="$<TARGET_FILE:module_one>" MODULE_TWO="$<TARGET_FILE:module_two>")
  add_dependencies(test_${name} module_one module_two)
endforeach()
