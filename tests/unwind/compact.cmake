# Apple's compact unwind and what the walker does with Mach-O images.
find_program(FW_LLVM_OBJDUMP NAMES llvm-objdump-19 llvm-objdump)
find_program(FW_LLVM_DWARFDUMP NAMES llvm-dwarfdump-19 llvm-dwarfdump)
find_program(FW_APPLE_CLANG NAMES clang-19)
fw_test(compact_dump unwind/compact_dump_test.c)
target_compile_definitions(test_compact_dump PRIVATE FW_LLVM_OBJDUMP="${FW_LLVM_OBJDUMP}")
if(FW_APPLE_CLANG AND FW_LLVM_OBJDUMP AND FW_LLVM_DWARFDUMP)
  find_program(FW_APPLE_LLD NAMES ld64.lld-19)
  set(compact_levels O0 O1 O2 Os)
  if(FW_FAST)
    set(compact_levels O0 O2)
  endif()
  set(compact_objects)
  set(compact_dylibs)
  foreach(target x86_64-apple-macos11 i386-apple-macos10.12 arm64-apple-ios13 arm64_32-apple-watchos5
          armv7k-apple-watchos2)
    foreach(level IN LISTS compact_levels)
      foreach(pointer omit-frame-pointer no-omit-frame-pointer)
        set(object ${CMAKE_CURRENT_BINARY_DIR}/compact-${target}-${level}-${pointer}.o)
        add_custom_command(OUTPUT ${object}
          COMMAND ${FW_APPLE_CLANG} -target ${target} -c -${level} -f${pointer} -fexceptions -w
                  -femit-dwarf-unwind=always ${CMAKE_CURRENT_LIST_DIR}/compact_program.c -o ${object}
          DEPENDS ${CMAKE_CURRENT_LIST_DIR}/compact_program.c VERBATIM)
        list(APPEND compact_objects ${object})
        string(REGEX MATCH "^(x86_64|arm64)-apple-(macos|ios)([0-9]+)$" linkable ${target})
        if(FW_APPLE_LLD AND linkable)
          set(dylib ${CMAKE_CURRENT_BINARY_DIR}/compact-${target}-${level}-${pointer}.dylib)
          add_custom_command(OUTPUT ${dylib}
            COMMAND ${FW_APPLE_LLD} -arch ${CMAKE_MATCH_1}
                    -platform_version ${CMAKE_MATCH_2} ${CMAKE_MATCH_3} ${CMAKE_MATCH_3}
                    -dylib -undefined dynamic_lookup ${object} -o ${dylib}
            DEPENDS ${object} VERBATIM)
          list(APPEND compact_dylibs ${dylib})
        endif()
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
  add_custom_target(compact_objects ALL DEPENDS ${compact_objects} ${entry_objects} ${compact_dylibs})
  add_executable(test_compact_programs unwind/compact_programs_test.c)
  target_link_libraries(test_compact_programs PRIVATE framewalk_core fw_cmocka)
  target_compile_definitions(test_compact_programs PRIVATE _GNU_SOURCE
    FW_LLVM_OBJDUMP="${FW_LLVM_OBJDUMP}" FW_LLVM_DWARFDUMP="${FW_LLVM_DWARFDUMP}")
  add_dependencies(test_compact_programs compact_objects)
  add_test(NAME compact_programs COMMAND test_compact_programs ${compact_objects})
  set_tests_properties(compact_programs PROPERTIES TIMEOUT 120)
endif()

add_executable(test_compact_step unwind/compact_step_test.c)
target_link_libraries(test_compact_step PRIVATE framewalk_core fw_cmocka)
target_include_directories(test_compact_step PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(test_compact_step PRIVATE _GNU_SOURCE
  FW_SHARED_DATA="${PROJECT_SOURCE_DIR}/../shared/data")
if(TARGET compact_objects)
  add_dependencies(test_compact_step compact_objects)
endif()
add_test(NAME compact_step COMMAND test_compact_step ${compact_dylibs})
set_tests_properties(compact_step PROPERTIES TIMEOUT 120)
fw_test(compact_walk unwind/compact_walk_test.c)
