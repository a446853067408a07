# Apple's compact unwind and what the walker does with Mach-O images.
find_program(FW_LLVM_OBJDUMP NAMES llvm-objdump-19 llvm-objdump)
foreach(name IN ITEMS dump)
  fw_test(compact_${name} unwind/compact_${name}_test.c)
  target_compile_definitions(test_compact_${name} PRIVATE FW_LLVM_OBJDUMP="${FW_LLVM_OBJDUMP}")
endforeach()
