# Recorded stacks of other projects, one test a case. Those of code compiled ahead of time
# (maps_compiled_arm64, photos_reset_arm64) need files that are not among the data, and skip.
add_executable(test_recorded recorded/recorded_test.c recorded/recording.c)
target_link_libraries(test_recorded
  PRIVATE framewalk_core framewalk_codecs framewalk_demangle fw_cmocka PkgConfig::ZLIB)
target_include_directories(test_recorded PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(test_recorded PRIVATE _GNU_SOURCE)

foreach(case
    bad_eh_frame_hdr_arm64 debug_frame_load_bias_arm eh_frame_bias_x86 empty_arm64
    gnu_debugdata_arm offset_arm pauth_pc_arm64 photos_reset_arm64 signal_fde_x86
    signal_fde_x86_64 straddle_arm64 zlib_compress_arm
    maps_compiled_arm64/28613_main-thread maps_compiled_arm64/28644 maps_compiled_arm64/28648
    maps_compiled_arm64/28656_oat_odex_jar maps_compiled_arm64/28667)
  string(REPLACE "/" "_" name ${case})
  add_test(NAME recorded_${name} COMMAND test_recorded ${name}
           ${PROJECT_SOURCE_DIR}/../shared/data/unwind/aosp/${case})
  set_tests_properties(recorded_${name} PROPERTIES
    TIMEOUT 60 SKIP_REGULAR_EXPRESSION "SKIPPED")
endforeach()

fw_test(recorded_libraries recorded/libraries_test.c)
target_link_libraries(test_recorded_libraries PRIVATE framewalk_codecs)
