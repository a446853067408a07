# Tests of src/collector. Those in Python talk to the real server, which they start on a free port.
function(fw_collector_test name)
  fw_symbols_test(${name} ${ARGN})
  target_link_libraries(test_${name} PRIVATE framewalk_collector)
endfunction()

include(collector/store.cmake)
