# Two libraries that differ where a stale answer would show.
foreach(name IN ITEMS one two)
  add_library(module_${name} MODULE capture/module.c)
  set_target_properties(module_${name} PROPERTIES C_VISIBILITY_PRESET default)
  # Not instrumented: sanitizers forbid or slow down what this is about.
  target_compile_options(module_${name} PRIVATE -O1 -fno-sanitize=all -fomit-frame-pointer)
endforeach()
target_compile_definitions(module_one PRIVATE FUNCTION=function_one FRAME=24)
target_compile_definitions(module_two PRIVATE FUNCTION=function_two FRAME=72)

# fw_uses_modules(NAME): the test loads them.
function(fw_uses_modules name)
  target_compile_definitions(test_${name} PRIVATE
    MODULE_ONE="$<TARGET_FILE:module_one>" MODULE_TWO="$<TARGET_FILE:module_two>")
  add_dependencies(test_${name} module_one module_two)
endfunction()
