# Apple's compact unwind and what the walker does with Mach-O images.
find_program(FW_LLVM_OBJDUMP NAMES llvm-objdump-19 llvm-objdump)
find_program(FW_LLVM_DWARFDUMP NAMES llvm-dwarfdump-19 llvm-dwarfdump)
find_program(FW_APPLE_CLANG NAMES clang-19)
fw_test(compact_dump unwind/compact_dump_test.c)
target_compile_definitions(test_compact_dump PRIVATE FW_LLVM_OBJDUMP="${FW_LLVM_OBJDUMP}")
fw_test(compact_step unwind/compact_step_test.c)

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
  set(entry_objects)
  foreach(target x86_64-apple-macos11 i386-apple-macos10.12 arm64-apple-ios13 arm64e-apple-ios14
          arm64_32-apple-watchos5 armv7-apple-ios9 armv7k-apple-watchos2)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/entry-${target}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${FW_APPLE_CLANG} -target ${target} -c -std=c11 -ffreestanding -Wall -Wextra -Werror
              -O2 -I${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_LIST_DIR}/entry_program.c -o ${object}
      DEPENDS ${CMAKE_CURRENT_LIST_DIR}/entry_program.c ${PROJECT_SOURCE_DIR}/src/arch/entry.h
              ${PROJECT_SOURCE_DIR}/src/arch/arch.h VERBATIM)
    list(APPEND entry_objects ${object})
  endforeach()
  add_custom_target(compact_objects ALL DEPENDS ${compact_objects} ${entry_objects})
  add_executable(test_compact_programs unwind/compact_programs_test.c)
  target_link_libraries(test_compact_programs PRIVATE framewalk_core fw_cmocka)
  target_compile_definitions(test_compact_programs PRIVATE _GNU_SOURCE
    FW_LLVM_OBJDUMP="${FW_LLVM_OBJDUMP}" FW_LLVM_DWARFDUMP="${FW_LLVM_DWARFDUMP}")
  add_dependencies(test_compact_programs compact_objects)
  add_test(NAME compact_programs COMMAND test_compact_programs ${compact_objects})
  set_tests_properties(compact_programs PROPERTIES TIMEOUT 120)
endif()
