# Stacks as text, and the cache of names; both are asked about images that come and go.
fw_test(stack_text capture/stack_text_test.c)
foreach(name IN ITEMS text stack_names)
  fw_test(${name} capture/${name}_test.c)
  fw_uses_modules(${name})
endforeach()
