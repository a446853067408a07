# Two libraries that differ where a stale answer would show.
fw_test(images capture/images_test.c)
foreach(name IN ITEMS one two)
  add_library(module_${name} MODULE capture/module.c)
  set_target_properties(module_${name} PROPERTIES C_VISIBILITY_PRESET default)
  # Not instrumented: sanitizers forbid or slow down what this is about.
  target_compile_options(module_${name} PRIVATE -O1 -fno-sanitize=all -fomit-frame-pointer)
  string(TOUPPER ${name} upper)
  target_compile_definitions(test_images PRIVATE MODULE_${upper}="$<TARGET_FILE:module_${name}>")
  add_dependencies(test_images module_${name})
endforeach()
target_compile_definitions(module_one PRIVATE FUNCTION=function_one FRAME=24)
target_compile_definitions(module_two PRIVATE FUNCTION=function_two FRAME=72)
