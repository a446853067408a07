# Apple's compact unwind and what the walker does with Mach-O images.
find_program(FW_LLVM_OBJDUMP NAMES llvm-objdump-19 llvm-objdump)
find_program(FW_LLVM_DWARFDUMP NAMES llvm-dwarfdump-19 llvm-dwarfdump)
find_program(FW_APPLE_CLANG NAMES clang-19)
foreach(name IN ITEMS dump programs)
  fw_test(compact_${name} unwind/compact_${name}_test.c)
  target_compile_definitions(test_compact_${name} PRIVATE
    FW_LLVM_OBJDUMP="${FW_LLVM_OBJDUMP}" FW_LLVM_DWARFDUMP="${FW_LLVM_DWARFDUMP}")
endforeach()

if(FW_APPLE_CLANG AND FW_LLVM_OBJDUMP AND FW_LLVM_DWARFDUMP)
  set(compact_objects)
  foreach(target x86_64-apple-macos11 i386-apple-macos10.12 arm64-apple-ios13 arm64_32-apple-watchos5
          armv7k-apple-watchos2)
    foreach(level O0 O1 O2 Os)
      foreach(pointer omit-frame-pointer no-omit-frame-pointer)
        set(object ${CMAKE_CURRENT_BINARY_DIR}/compact-${target}-${level}-${pointer}.o)
        add_custom_command(OUTPUT ${object}
          COMMAND ${FW_APPLE_CLANG} -target ${target} -c -${level} -f${pointer} -fexceptions -w
                  -femit-dwarf-unwind=always ${CMAKE_CURRENT_LIST_DIR}/compact_program.c -o ${object}
          DEPENDS ${CMAKE_CURRENT_LIST_DIR}/compact_program.c VERBATIM)
        list(APPEND compact_objects ${object})
      endforeach()
    endforeach()
  endforeach()
  add_custom_target(compact_objects ALL DEPENDS ${compact_objects})
  add_dependencies(test_compact_programs compact_objects)
  add_test(NAME compact_programs_compiled COMMAND test_compact_programs ${compact_objects})
  set_tests_properties(compact_programs_compiled PROPERTIES TIMEOUT 120)
  set_tests_properties(compact_programs PROPERTIES DISABLED TRUE)
endif()
