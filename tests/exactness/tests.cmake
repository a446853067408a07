# Goldens of the shared test data: llvm-symbolizer's answers at every address of two dSYMs.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
function(fw_golden_test name golden file)
  set(data ${PROJECT_SOURCE_DIR}/../shared/data)
  add_test(NAME golden_${name} COMMAND ${Python3_EXECUTABLE}
    ${CMAKE_CURRENT_SOURCE_DIR}/exactness/golden.py $<TARGET_FILE:framewalk>
    ${data}/reports/${golden} ${data}/debug/samply/other/${file})
  set_tests_properties(golden_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 60)
endfunction()
fw_golden_test(dsym_simple golden-dsym-simple-example-arm64.tsv
  simple-example/out/mac-dsym/main.dSYM)
fw_golden_test(dsym_abstract_linkage golden-dsym-abstract-linkage-arm64.tsv
  abstract-linkage-names/out/mac-dsym/main.dSYM)

# The same programs without dSYM: what their object files say.
function(fw_debug_map_test name golden program)
  set(data ${PROJECT_SOURCE_DIR}/../shared/data)
  add_test(NAME debug_map_${name} COMMAND ${Python3_EXECUTABLE}
    ${CMAKE_CURRENT_SOURCE_DIR}/exactness/debug_map.py $<TARGET_FILE:framewalk>
    ${data}/reports/${golden} ${data}/debug/samply/other/${program})
  set_tests_properties(debug_map_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 60)
endfunction()
fw_debug_map_test(simple golden-dsym-simple-example-arm64.tsv simple-example/out/mac-oso/main)
fw_debug_map_test(abstract_linkage golden-dsym-abstract-linkage-arm64.tsv
  abstract-linkage-names/out/mac-oso/main)

# Every instruction of every Mach-O file against llvm-symbolizer. What may differ (docs/exactness.md): we
# name stubs and read object files through the debug map, and rows of padding outside of a unit's ranges.
find_program(FW_LLVM_SYMBOLIZER llvm-symbolizer-19)
if(FW_LLVM_SYMBOLIZER AND EXISTS ${PROJECT_SOURCE_DIR}/../shared/data/debug)
  add_test(NAME exactness_macho COMMAND ${Python3_EXECUTABLE}
    ${CMAKE_CURRENT_SOURCE_DIR}/exactness/exactness.py --build ${PROJECT_BINARY_DIR}
    --cache ${PROJECT_BINARY_DIR}/exactness --allow more "--allow=more frames"
    "--allow=line 0, theirs" "--allow=file only ours"
    macho:${PROJECT_SOURCE_DIR}/../shared/data/debug)
  set_tests_properties(exactness_macho PROPERTIES TIMEOUT 300)
endif()
find_program(FW_DSYMUTIL NAMES dsymutil-19 dsymutil)
if(FW_DSYMUTIL AND FW_LLVM_SYMBOLIZER)
  add_test(NAME exactness_debug_maps COMMAND ${Python3_EXECUTABLE}
    ${CMAKE_CURRENT_SOURCE_DIR}/exactness/debug_maps.py $<TARGET_FILE:framewalk> ${FW_DSYMUTIL}
    ${PROJECT_SOURCE_DIR}/../shared/data/debug/llvm-dsymutil ${PROJECT_BINARY_DIR}/exactness)
  set_tests_properties(exactness_debug_maps PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
