# The instruction analyses of arm, against tables that the cross compiler makes of the unwinder's own
# sources, in both instruction sets.
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib) # the test data is gzipped
fw_test(analysis_cfi unwind/analysis_cfi_test.c)
target_link_libraries(test_analysis_cfi PRIVATE framewalk_codecs PkgConfig::ZLIB)

fw_test(exidx_compare unwind/exidx_compare_test.c)

find_program(FW_ARM_GCC arm-linux-gnueabihf-gcc)
if(FW_ARM_GCC AND NOT FW_FAST)
  file(GLOB arm_fixture_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/unwind/*.c
       ${PROJECT_SOURCE_DIR}/src/base/*.c ${PROJECT_SOURCE_DIR}/src/arch/*.c)
  set(arm_fixtures)
  foreach(variant "O2;mthumb" "O2;marm" "Os;mthumb" "O0;marm" "O0;mthumb")
    string(REPLACE ";" "-" name "${variant}")
    string(REGEX REPLACE "([A-Za-z0-9]+)" "-\\1" flags "${variant}")
    set(fixture ${CMAKE_CURRENT_BINARY_DIR}/arm-${name}.so)
    add_custom_command(OUTPUT ${fixture}
      COMMAND ${FW_ARM_GCC} -g -shared -fPIC -D_GNU_SOURCE ${flags} -I${PROJECT_SOURCE_DIR}/src
              -I${PROJECT_SOURCE_DIR}/include ${arm_fixture_sources} -o ${fixture}
      DEPENDS ${arm_fixture_sources} VERBATIM COMMAND_EXPAND_LISTS)
    list(APPEND arm_fixtures ${fixture})
  endforeach()
  set(arm_cleanups)
  foreach(flags "-O2;-mthumb" "-O2;-marm" "-O1;-mthumb" "-Os;-marm")
    string(REPLACE ";" "" name "${flags}")
    set(fixture ${CMAKE_CURRENT_BINARY_DIR}/arm-cleanup${name}.so)
    add_custom_command(OUTPUT ${fixture}
      COMMAND ${FW_ARM_GCC} -g -fexceptions -shared -fPIC ${flags}
              ${CMAKE_CURRENT_LIST_DIR}/arm_cleanup.c -o ${fixture}
      DEPENDS ${CMAKE_CURRENT_LIST_DIR}/arm_cleanup.c VERBATIM COMMAND_EXPAND_LISTS)
    list(APPEND arm_cleanups ${fixture})
  endforeach()
  add_custom_target(arm_fixtures ALL DEPENDS ${arm_fixtures} ${arm_cleanups})
  add_test(NAME exidx_compare_arm COMMAND test_exidx_compare ${arm_cleanups})
  set_tests_properties(exidx_compare_arm PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 60)
  add_test(NAME analysis_cfi_arm COMMAND test_analysis_cfi ${arm_fixtures})
  set_tests_properties(analysis_cfi_arm PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
