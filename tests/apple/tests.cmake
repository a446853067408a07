# What an Apple developer gets: package files, headers as a module, and sources that compile for every platform.
find_program(FW_CLANG clang-19)
find_program(FW_LLVM_NM llvm-nm-19)
if(NOT FW_CLANG)
  set(FW_CLANG clang-19) # the tests say that it is missing
endif()
function(fw_apple_test name)
  add_test(NAME apple_${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/apple/${name}_test.sh ${ARGN})
  set_tests_properties(apple_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endfunction()
fw_apple_test(lists ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/cmake/toolchains/apple-arm64.cmake)
fw_apple_test(headers ${FW_CLANG} ${PROJECT_SOURCE_DIR})
fw_apple_test(targets ${FW_CLANG} ${PROJECT_SOURCE_DIR})
fw_apple_test(system ${FW_CLANG} ld64.lld-19 ${FW_LLVM_NM} ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/build/apple-headers)
set_tests_properties(apple_system PROPERTIES TIMEOUT 1800)
fw_apple_test(sdk ${FW_CLANG} ${PROJECT_SOURCE_DIR})
add_test(NAME apple_privacy COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/apple/privacy_test.py
  ${PROJECT_SOURCE_DIR})
# The stopped window, compiled for them and inspected.
add_test(NAME window_targets COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/os/window_test.sh ${PROJECT_SOURCE_DIR}
  ${CMAKE_CURRENT_BINARY_DIR}/window)
set_tests_properties(window_targets PROPERTIES SKIP_RETURN_CODE 77)
